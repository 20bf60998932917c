"""What somebody may have meant who typed a name that does not exist.  Pure."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The name that is most like it; None if none is much like it."""
    import difflib

    by_lower = {each.lower(): each for each in known}
    close = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.7)
    return by_lower[close[0]] if close else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """What goes after "does not exist"; empty if nothing is much like it."""
    near = nearest(name, known)
    return "" if near is None else f": did you mean {near}?"
