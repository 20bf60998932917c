"""Times in the patterns of Java's `SimpleDateFormat`, as far as tools need them.  Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, tzinfo

from barnabas.cli.options import UsageError

_TOKEN = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+")


def _two_digits(year: int) -> int:
    return year % 100


def _hour_of_half(moment: datetime) -> int:
    return moment.hour % 12 or 12


_NUMBERS: dict[str, Callable[[datetime], int]] = {
    "d": lambda moment: moment.day,
    "D": lambda moment: moment.timetuple().tm_yday,
    "H": lambda moment: moment.hour,
    "k": lambda moment: moment.hour or 24,
    "K": lambda moment: moment.hour % 12,
    "h": _hour_of_half,
    "m": lambda moment: moment.minute,
    "s": lambda moment: moment.second,
    "S": lambda moment: moment.microsecond // 1000,
    "u": lambda moment: moment.isoweekday(),
}
_WORDS: dict[str, tuple[str, str]] = {"a": ("%p", "%p"), "E": ("%a", "%A"), "z": ("%Z", "%Z")}
"""Short and long, in the words of `strftime`."""


def _part(letter: str, length: int, moment: datetime) -> str:
    if letter == "y":
        year = _two_digits(moment.year) if length == 2 else moment.year
        return str(year).zfill(length)
    if letter == "M" and length > 2:
        return moment.strftime("%b" if length == 3 else "%B")
    if letter == "M":
        return str(moment.month).zfill(length)
    if letter in _WORDS:
        short, long = _WORDS[letter]
        return moment.strftime(long if length > 3 else short)
    if letter == "Z":
        return moment.strftime("%z")
    if letter == "X":
        return _offset(moment, length)
    return str(_NUMBERS[letter](moment)).zfill(length)


def _offset(moment: datetime, length: int) -> str:
    text = moment.strftime("%z")
    if text.strip("+-0") == "":
        return "Z"
    return {1: text[:3], 2: text}.get(length, f"{text[:3]}:{text[3:]}")


def date_format(option: str, pattern: str, zone: tzinfo | None = None) -> Callable[[int], str]:
    """A function from milliseconds since 1970 to text; `UsageError` for an unknown letter.

    In the zone of this machine unless one is given.
    """
    pieces: list[tuple[str, int] | str] = []
    at = 0
    while at < len(pattern):
        found = _TOKEN.match(pattern, at)
        if found is None:
            raise UsageError(f'{option}: "{pattern}" has a quote that does not end')
        at = found.end()
        letter = found[2]
        if found[1] is not None:
            pieces.append(found[1].replace("''", "'") or "'")
        elif letter is None:
            pieces.append(found[0])
        elif letter in "yMZX" or letter in _NUMBERS or letter in _WORDS:
            pieces.append((letter, len(found[0])))
        else:
            raise UsageError(f'{option}: "{pattern}": the letter {letter} is not known')

    def text(time_ms: int) -> str:
        moment = datetime.fromtimestamp(time_ms / 1000, zone).astimezone(zone)
        moment = moment.replace(microsecond=time_ms % 1000 * 1000)
        return "".join(
            piece if isinstance(piece, str) else _part(*piece, moment) for piece in pieces
        )

    return text
