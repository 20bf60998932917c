"""What somebody may have meant who typed a name that does not exist.  Pure."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The name that is most like it; None if none is much like it.

    Another number is another thing, not a slip of the finger: nobody who types orders-1 means
    orders-2.
    """
    import difflib
    import re

    numbers = re.findall(r"\d+", name)
    by_lower = {each.lower(): each for each in known if re.findall(r"\d+", each) == numbers}
    close = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.7)
    return by_lower[close[0]] if close else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """What goes after "does not exist"; empty if nothing is much like it."""
    near = nearest(name, known)
    return "" if near is None else f": did you mean {near}?"
