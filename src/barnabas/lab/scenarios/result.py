"""The outcome of a run, as values: what `--json` prints and what the views show.  Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from barnabas.lab.scenarios.expectation import surprises

if TYPE_CHECKING:
    from barnabas.lab.scenarios.declaration import Scenario
    from barnabas.lab.verdict.judging import Offence, Verdict

OFFENDING_MAX = 100
"""Records that `--json` lists; the counts are of all."""
RANGES_MAX = 8
"""Lines about offending records in a terminal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One run of one scenario, judged."""

    scenario: Scenario
    verdict: Verdict
    seen: Mapping[str, bool]
    unseeable: frozenset[str]
    seconds: float
    failure: str = ""
    """Why the play did not come to its end; then there is nothing to judge."""

    @property
    def surprises(self) -> list[str]:
        """Why the outcome is not the predicted one; empty if it is."""
        if self.failure:
            return [f"it did not come to its end: {self.failure}"]
        return surprises(self.scenario.expect, self.counts, self.seen, unseeable=self.unseeable)

    @property
    def predicted(self) -> bool:
        return not self.surprises

    @property
    def counts(self) -> dict[str, int]:
        return {
            "lost": len(self.verdict.lost),
            "duplicated": len(self.verdict.duplicated),
            "aborted": len(self.verdict.aborted),
            "foreign": len(self.verdict.foreign),
            "reordered": len(self.verdict.reordered),
        }

    @property
    def offending(self) -> list[Offence]:
        """Those that the exercise is about; order is another matter."""
        verdict = self.verdict
        return [*verdict.lost, *verdict.duplicated, *verdict.aborted, *verdict.foreign]


def document(result: Result) -> dict[str, Any]:
    """The one object of a scenario that `--json` prints."""
    offending = result.offending
    return {
        "name": result.scenario.name,
        "title": result.scenario.title,
        "half": result.scenario.half,
        "predicted": result.predicted,
        "surprises": result.surprises,
        "sent": result.verdict.sent,
        "acknowledged": result.verdict.acknowledged,
        "received": result.verdict.received,
        **result.counts,
        "seen": dict(result.seen),
        "seconds": round(result.seconds, 1),
        "offending_total": len(offending),
        "offending": [
            {
                "name": each.name,
                "topic": each.topic,
                "partition": each.partition,
                "offset": each.offset if each.offset >= 0 else None,
                "key": each.key,
            }
            for each in offending[:OFFENDING_MAX]
        ],
    }


def ranges(offences: Sequence[Offence]) -> list[str]:
    """Offending records in few words: runs of offsets, where offsets are known."""
    groups: dict[tuple[str, str, int], list[Offence]] = {}
    for each in offences:
        groups.setdefault((each.name, each.topic, each.partition), []).append(each)
    lines = []
    for (name, topic, partition), found in groups.items():
        place = f"{topic}-{partition}" if partition >= 0 else topic
        offsets = sorted({each.offset for each in found})
        where = "" if offsets[0] < 0 else f" offsets {_runs(offsets)},"
        count = "1 record" if len(found) == 1 else f"{len(found):,} records"
        keys = _few([each.key for each in found])
        lines.append(f"{name}: {place}, {count}:{where} keys {keys}")
    return lines


def _runs(numbers: Sequence[int]) -> str:
    """`3-7, 9, 12-20`: the first few runs of numbers that follow each other."""
    runs: list[list[int]] = [[numbers[0], numbers[0]]]
    for before, number in pairwise(numbers):
        if number == before + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    shown = [str(a) if a == b else f"{a}-{b}" for a, b in runs[:4]]
    return ", ".join(shown) + (f" and {len(runs) - 4} more runs" if len(runs) > 4 else "")


def _few(keys: Sequence[str | None]) -> str:
    shown = ", ".join(str(key) for key in keys[:5])
    return shown + (", ..." if len(keys) > 5 else "")
