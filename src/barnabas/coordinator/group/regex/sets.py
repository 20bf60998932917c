"""Named sets of characters, cut down to those that topic names have."""

from __future__ import annotations

import unicodedata

from barnabas.coordinator.group.regex.nodes import ALL, DIGITS, LETTERS, WORD


class InvalidPatternError(ValueError):
    """The text is not a pattern."""


_UPPER = frozenset(c for c in LETTERS if c.isupper())
_LOWER = LETTERS - _UPPER
_NONE: frozenset[str] = frozenset()

CLASSES = {
    "d": DIGITS,
    "D": ALL - DIGITS,
    "w": WORD,
    "W": ALL - WORD,
    "s": _NONE,
    "S": ALL,
}
"""By the letter of their escape.  Names have no white space."""

_NAMED = {
    "alnum": LETTERS | DIGITS,
    "alpha": LETTERS,
    "ascii": ALL,
    "blank": _NONE,
    "cntrl": _NONE,
    "digit": DIGITS,
    "graph": ALL,
    "lower": _LOWER,
    "print": ALL,
    "punct": ALL - LETTERS - DIGITS,
    "space": _NONE,
    "upper": _UPPER,
    "word": WORD,
    "xdigit": frozenset("0123456789abcdefABCDEF"),
}

_SCRIPTS = {"Latin": LETTERS, "Common": ALL - LETTERS, "Greek": _NONE, "Cyrillic": _NONE}


def named_class(name: str) -> frozenset[str]:
    """What `[:name:]` stands for inside a class."""
    negated = name.startswith("^")
    try:
        found = _NAMED[name.removeprefix("^")]
    except KeyError:
        raise InvalidPatternError(f"unknown class [:{name}:]") from None
    return frozenset(ALL - found if negated else found)


def property_class(name: str, *, negated: bool) -> frozenset[str]:
    """What `\\p{name}` stands for: a category of Unicode, its first letter, or a script."""
    if name.startswith("^"):
        negated = not negated
        name = name[1:]
    categories = {c: unicodedata.category(c) for c in ALL}
    if name in _SCRIPTS:
        found = _SCRIPTS[name]
    elif name == "Any":
        found = ALL
    elif name in _CATEGORIES:
        found = frozenset(c for c in ALL if categories[c].startswith(name))
    else:
        raise InvalidPatternError(f"unknown property {name}")
    return frozenset(ALL - found if negated else found)


_CATEGORIES = frozenset(
    {"C", "Cc", "Cf", "Co", "Cs", "L", "Ll", "Lm", "Lo", "Lt", "Lu", "M", "Mc", "Me", "Mn", "N"}
    | {"Nd", "Nl", "No", "P", "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "S", "Sc", "Sk", "Sm"}
    | {"So", "Z", "Zl", "Zp", "Zs"}
)


def both_cases(chars: frozenset[str]) -> frozenset[str]:
    return frozenset({c.lower() for c in chars} | {c.upper() for c in chars})
