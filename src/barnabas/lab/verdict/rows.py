"""A verdict in words, and as a document for programs.  Pure."""

from __future__ import annotations

from typing import Any

from barnabas.lab.verdict.judging import Offence, Verdict

SHOWN = 10
"""Records of a kind that are listed before the rest is only counted."""
KINDS = ("lost", "duplicated", "reordered", "aborted", "foreign")


def counts(verdict: Verdict) -> dict[str, int]:
    """How many of each kind."""
    return {kind: len(getattr(verdict, kind)) for kind in KINDS}


def summary(verdict: Verdict) -> str:
    """One line; loss and duplication are always said, the rest if there is any."""
    if verdict.is_clean:
        return "nothing lost, nothing duplicated"
    said = [
        f"{count:,} {kind}"
        for kind, count in counts(verdict).items()
        if count or kind in ("lost", "duplicated")
    ]
    return ", ".join(said)


def lines(verdict: Verdict, *, shown: int = SHOWN) -> list[str]:
    """Counts, then the records of each kind."""
    head = f"{verdict.sent:,} sent, {verdict.acknowledged:,} acknowledged"
    if verdict.unknown:
        head += f", {verdict.unknown:,} of unknown fate"
    if verdict.refused:
        head += f", {verdict.refused:,} refused"
    found = [f"{head}; {verdict.received:,} processed", summary(verdict)]
    for kind in KINDS:
        offences: tuple[Offence, ...] = getattr(verdict, kind)
        if offences:
            found.append(f"{kind}:")
            found += [f"  {line(each)}" for each in offences[:shown]]
        if len(offences) > shown:
            found.append(f"  and {len(offences) - shown:,} more")
    return found


def line(offence: Offence) -> str:
    """One record: where it is, or was to be, and what is wrong."""
    offset = "" if offence.offset < 0 else f" offset {offence.offset}"
    key = "null" if offence.key is None else offence.key
    value = "" if offence.value is None else f"  {offence.value}"
    return f"{offence.topic}-{offence.partition}{offset} key {key} ({offence.name}){value}"


def document(verdict: Verdict) -> dict[str, Any]:
    """The same for programs."""
    return {
        "sent": verdict.sent,
        "acknowledged": verdict.acknowledged,
        "unknown": verdict.unknown,
        "refused": verdict.refused,
        "received": verdict.received,
        **counts(verdict),
        "offending": [offending(kind, each) for kind in KINDS for each in getattr(verdict, kind)],
    }


def offending(kind: str, offence: Offence) -> dict[str, Any]:
    """One record; what is not known is null."""
    return {
        "kind": kind,
        "name": offence.name,
        "topic": offence.topic,
        "partition": offence.partition,
        "offset": None if offence.offset < 0 else offence.offset,
        "key": offence.key,
        "value": offence.value,
        "consumer": offence.consumer or None,
    }
