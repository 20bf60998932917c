"""What a cluster says of a topic, as plain values."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionView:
    """One partition, as the brokers describe it."""

    partition: int
    leader: int | None
    """None: it has none (`Leader: none`)."""
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    end_offset: int | None
    """Where consumers come to the end: the high watermark.  None while no leader says."""
    start_offset: int | None
