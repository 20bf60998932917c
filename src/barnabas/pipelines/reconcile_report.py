"""What reconcile found, as plain values."""

from __future__ import annotations

from dataclasses import dataclass

KINDS = ("lost", "duplicated", "foreign", "reordered")


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """One partition's line of the summary."""

    topic: str
    partition: int
    sent: int = 0
    received: int = 0
    lost: int = 0
    duplicated: int = 0
    foreign: int = 0
    reordered: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One record that differs."""

    kind: str
    topic: str
    partition: int
    key: str
    times: int
    sent_in: str | None
    sent_at: int | None
    """Line of the log, from 1 on, or offset."""
    received_in: str | None
    received_at: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    counts: tuple[Count, ...]
    findings: tuple[Finding, ...]
    """As many of each kind as were asked for."""

    @property
    def is_clean(self) -> bool:
        return not any(getattr(count, kind) for count in self.counts for kind in KINDS)
