"""What an exercise predicts, and whether that is what came out.  Pure.

Counts are of records: those that clients logged, never those that somebody meant to see.  Beside
them an exercise has *sights*: facts that must be seen on the way, such as a partition without a
leader.  A sight that nobody looked for counts as not seen.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Count:
    """How many records are predicted: exactly so many, some, none, or any number."""

    least: int = 0
    most: int | None = None

    @classmethod
    def read(cls, value: object) -> Count:
        match value:
            case "none":
                return NONE
            case "some":
                return SOME
            case "any":
                return ANY
            case int() if not isinstance(value, bool) and value >= 0:
                return cls(value, value)
        raise ValueError(f"{value!r} is not a count: none, some, any, or a number")

    def allows(self, count: int) -> bool:
        return count >= self.least and (self.most is None or count <= self.most)

    def __str__(self) -> str:
        if self.most is None:
            return "some" if self.least else "any"
        return f"{self.least:,}" if self.least else "none"


NONE = Count(0, 0)
SOME = Count(1)
ANY = Count()


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What one half of an exercise predicts."""

    lost: Count = NONE
    duplicated: Count = NONE
    aborted: Count = NONE
    """Records of aborted transactions that were read."""
    foreign: Count = NONE
    """Records that nobody sent."""
    reordered: Count = ANY
    """Resent batches may be overtaken: few exercises are about that."""
    sights: Mapping[str, str] = field(default_factory=dict)
    """Name and sentence of what must be seen on the way."""

    def counts(self) -> dict[str, Count]:
        return {
            "lost": self.lost,
            "duplicated": self.duplicated,
            "aborted": self.aborted,
            "foreign": self.foreign,
            "reordered": self.reordered,
        }

    def __str__(self) -> str:
        """Losses and duplicates always, all else where the exercise is about it."""
        said = {"lost": self.lost, "duplicated": self.duplicated}
        if self.aborted != NONE:
            said["aborted"] = self.aborted
        if self.foreign != NONE:
            said["foreign"] = self.foreign
        if self.reordered != ANY:
            said["reordered"] = self.reordered
        return ", ".join(f"{name} {count}" for name, count in said.items())


def surprises(
    expect: Expectation,
    counts: Mapping[str, int],
    seen: Mapping[str, bool],
    *,
    unseeable: Collection[str] = (),
) -> list[str]:
    """Every way in which the outcome is not the predicted one; none if it is.

    What is in `unseeable` could not be looked for, in a cluster that is not the lab's.
    """
    wrong = [
        f"{name}: {counts.get(name, 0):,}, predicted {count}"
        for name, count in expect.counts().items()
        if not count.allows(counts.get(name, 0))
    ]
    wrong += [
        f"not seen: {text}"
        for name, text in expect.sights.items()
        if name not in unseeable and not seen.get(name)
    ]
    return wrong
