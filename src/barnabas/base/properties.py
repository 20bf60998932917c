r"""Java-style properties files, as every Kafka broker and tool reads them.

The format, as `java.util.Properties` reads it:

- A *logical* line is one or more physical lines; a line that ends with an odd number of
  backslashes goes on in the next, whose leading white space is dropped.
- White space is space, tab and form feed.  Blank lines, and logical lines whose first other
  character is `#` or `!`, are skipped; a comment is never continued.
- The key ends at the first `=`, `:` or white space without a backslash before it.  Between key and
  value there may be white space and one `=` or `:`.  White space at the value's end is kept.
- `\t \n \r \f` and `\uXXXX` (a UTF-16 code unit) are escapes; a backslash before anything else just
  goes away.
- The last of several lines with the same key counts.

Bytes are taken as UTF-8 and, if they are not UTF-8, as ISO-8859-1: plain ASCII is both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_WHITE = " \t\f"
_LINE_END = r"\r\n|\r|\n"
_ESCAPE = r"(?s)\\(u[0-9A-Fa-f]{4}|.)?"
_PLAIN = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


class PropertiesError(ValueError):
    """A line that cannot be read; says which one."""


class Property(NamedTuple):
    """A value, and where it stands, so that a complaint about it can say so."""

    value: str
    line: int
    """Of the file, from 1: where the logical line that set the value begins."""


def load_properties(path: str | Path) -> dict[str, Property]:
    """Reads a file, in the order of each key's first appearance.  OSError if it cannot be read."""
    data = Path(path).read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("iso-8859-1")
    try:
        return parse_properties(text)
    except PropertiesError as error:
        raise PropertiesError(f"{path}: {error}") from None


def parse_properties(text: str) -> dict[str, Property]:
    """Reads a whole file's text; `PropertiesError` names the line that cannot be read."""
    found: dict[str, Property] = {}
    for number, line in _logical_lines(text):
        key, value = _split(line)
        try:
            found[_unescape(key)] = Property(_unescape(value), number)
        except PropertiesError as error:
            raise PropertiesError(f"line {number}: {error}") from None
    return found


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Joined lines with the number of their first one, without blank ones and comments."""
    parts: list[str] = []
    begin = 0
    for number, raw in enumerate(re.split(_LINE_END, text), start=1):
        line = raw.lstrip(_WHITE)
        if not parts:
            if not line or line[0] in "#!":
                continue
            begin = number
        goes_on = (len(line) - len(line.rstrip("\\"))) % 2 == 1
        if goes_on:
            line = line[:-1]
        if line:  # a lone backslash begins nothing: the next line may still be a comment
            parts.append(line)
        if parts and not goes_on:
            yield begin, "".join(parts)
            parts = []
    if parts:  # the file ends with a backslash
        yield begin, "".join(parts)


def _split(line: str) -> tuple[str, str]:
    end = 0
    while end < len(line) and line[end] not in "=:" + _WHITE:
        end += 2 if line[end] == "\\" else 1
    rest = line[end:].lstrip(_WHITE)
    if rest[:1] in ("=", ":"):
        rest = rest[1:].lstrip(_WHITE)
    return line[:end], rest


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    plain = re.sub(_ESCAPE, _unescape_one, text)
    if any("\ud800" <= character <= "\udfff" for character in plain):
        # Characters beyond the first 65,536 are written as two escapes; a lone half stays one.
        plain = plain.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return plain


def _unescape_one(match: re.Match[str]) -> str:
    escaped = match[1] or ""
    if escaped[:1] == "u":
        if len(escaped) != 5:
            raise PropertiesError("\\u must be followed by four hexadecimal digits")
        return chr(int(escaped[1:], 16))
    return _PLAIN.get(escaped, escaped)
