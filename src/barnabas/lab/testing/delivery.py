"""`assert_delivery`: what became of the records, held against what was promised."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from barnabas.lab.verdict.judging import Delivery, Verdict, judge
from barnabas.lab.verdict.rows import line, lines

if TYPE_CHECKING:
    from barnabas.lab.testing.recorder import Recorder
    from barnabas.lab.verdict.records import StoredRecord

SHOWN = 20
"""Records that are named before the rest is only counted."""
NOTHING = (
    "nothing to judge: tell `history` what was sent or processed, or name a topic with records"
)


class TopicReader(Protocol):
    """Gives all records of a topic, or only those that are committed."""

    def __call__(self, topic: str, *, committed_only: bool) -> list[StoredRecord]: ...


class DeliveryAssertion:
    """Of one test: judges its history."""

    def __init__(self, recorder: Recorder, read: TopicReader) -> None:
        self._recorder = recorder
        self._read = read

    def __call__(self, promise: Delivery | str, topic: str | None = None) -> Verdict:
        """AssertionError with a verdict that names the records, if the promise was not kept.

        `promise`: `at_least_once`, `at_most_once` or `exactly_once`.  `topic`: one that nothing
        was processed of, perhaps; those of the history need not be named.  `ValueError` if nothing
        was sent and nothing processed: that would keep any promise.
        """
        __tracebackhide__ = True
        wanted = promise if isinstance(promise, Delivery) else delivery(promise)
        topics = sorted({*self._recorder.topics(), *([topic] if topic else [])})
        # In this order: what ends between the two is committed, not missing.
        stored, committed = (
            [record for name in topics for record in self._read(name, committed_only=only)]
            for only in (False, True)
        )
        history = self._recorder.history(stored, committed)
        if not history.sent and not history.received:
            raise ValueError(NOTHING if topic is None else f"{topic} is empty; {NOTHING}")
        verdict = judge(history)
        if verdict.breaks(wanted):
            raise AssertionError(complaint(wanted, verdict))
        return verdict


def delivery(name: str) -> Delivery:
    """A promise by its name: `at_least_once`, `at least once`."""
    try:
        return Delivery(name.replace("_", " ").lower())
    except ValueError:
        known = ", ".join(each.name.lower() for each in Delivery)
        raise ValueError(f"{name!r} is no promise: {known} are") from None


def complaint(promise: Delivery, verdict: Verdict) -> str:
    """What was not kept, which records show it, and the verdict as a whole."""
    broken = verdict.breaks(promise)
    shown = [f"  {line(each)}" for each in broken[:SHOWN]]
    if len(broken) > SHOWN:
        shown.append(f"  and {len(broken) - SHOWN:,} more")
    head, summary = lines(verdict, shown=0)[:2]
    return "\n".join([f"not {promise.value}: {summary}", *shown, f"({head})"])
