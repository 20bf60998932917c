"""Lines of input as records: `kafka-console-producer`'s side of the text.  Pure, bytes throughout.

A line ends with a line feed; a carriage return before it belongs to the line end, any other byte to
the record.  What stands after the last line feed is a line too.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from barnabas.cli.common import true_or_false
from barnabas.cli.options import UsageError

Header = tuple[str, str | bytes | None]

DEFAULTS = {
    "parse.key": "false",
    "parse.headers": "false",
    "ignore.error": "false",
    "key.separator": "\t",
    "headers.delimiter": "\t",
    "headers.separator": ",",
    "headers.key.separator": ":",
    "null.marker": "",
}


class LineError(Exception):
    """A line that is not a record; says which line, and why."""


@dataclass(slots=True)
class LineSplitter:
    """Cuts a stream that comes in pieces into lines; keeps only the unfinished one."""

    _pending: list[bytes] = field(default_factory=list)

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that are complete now, without their ends."""
        if b"\n" not in data:
            self._pending.append(data)  # joined once, so that a long line costs its length
            return []
        lines = (b"".join(self._pending) + data).split(b"\n")
        self._pending = [lines.pop()]
        if b"\r" in data or any(line.endswith(b"\r") for line in lines[:1]):
            return [line.removesuffix(b"\r") for line in lines]
        return lines

    def rest(self) -> list[bytes]:
        """The last line, if the input did not end with a line feed."""
        last = b"".join(self._pending)
        self._pending = []
        return [last] if last else []


@dataclass(frozen=True, slots=True, kw_only=True)
class InputRecord:
    value: bytes | None
    key: bytes | None = None
    headers: list[Header] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class LineFormat:
    """How a line is taken apart."""

    parse_key: bool = False
    parse_headers: bool = False
    ignore_error: bool = False
    key_separator: bytes = b"\t"
    headers_delimiter: bytes = b"\t"
    headers_separator: bytes = b","
    headers_key_separator: bytes = b":"
    null_marker: bytes | None = None

    @property
    def is_plain(self) -> bool:
        """Whether every line is a value as it stands."""
        return not self.parse_key and not self.parse_headers and self.null_marker is None

    def parse(self, line: bytes, number: int) -> InputRecord:
        """`headers<TAB>key<TAB>value`, less the parts that are not asked for."""
        rest = line
        headers: list[Header] = []
        key: bytes | None = None
        if self.parse_headers:
            found, rest = self._cut(line, rest, number, self.headers_delimiter, "headers delimiter")
            if found is not None and found != self.null_marker:
                headers = self._headers(found, number)
        if self.parse_key:
            found, rest = self._cut(line, rest, number, self.key_separator, "key separator")
            key = self._or_null(found)
        return InputRecord(value=self._or_null(rest), key=key, headers=headers)

    def _cut(
        self, line: bytes, rest: bytes, number: int, separator: bytes, name: str
    ) -> tuple[bytes | None, bytes]:
        position = rest.find(separator)
        if position >= 0:
            return rest[:position], rest[position + len(separator) :]
        if self.ignore_error:
            return None, rest
        raise LineError(f"No {name} found on line number {number}: '{shown(line)}'")

    def _headers(self, text: bytes, number: int) -> list[Header]:
        pairs = text.split(self.headers_separator)
        while len(pairs) > 1 and not pairs[-1]:
            pairs.pop()
        return [self._header(pair, number) for pair in pairs]

    def _header(self, pair: bytes, number: int) -> Header:
        name, separator, value = pair.partition(self.headers_key_separator)
        if not separator and not self.ignore_error:
            raise LineError(
                f"No header key separator found in pair '{shown(pair)}' on line number {number}"
            )
        if name == self.null_marker:
            raise LineError(
                f"Header keys should not be equal to the null marker '{shown(name)}' "
                f"on line number {number}"
            )
        return name.decode("utf-8", "replace"), self._or_null(value) if separator else None

    def _or_null(self, data: bytes | None) -> bytes | None:
        return None if data == self.null_marker else data


def line_format(properties: Mapping[str, str], warn: Callable[[str], None]) -> LineFormat:
    """From the reader's properties; unknown ones are for readers of other people's making."""
    for name in properties:
        if name not in DEFAULTS:
            warn(f"reader property {name} is not known here and is ignored")
    text = DEFAULTS | dict(properties)
    result = LineFormat(
        parse_key=true_or_false(text, "parse.key"),
        parse_headers=true_or_false(text, "parse.headers"),
        ignore_error=true_or_false(text, "ignore.error"),
        key_separator=text["key.separator"].encode(),
        headers_delimiter=text["headers.delimiter"].encode(),
        headers_separator=text["headers.separator"].encode(),
        headers_key_separator=text["headers.key.separator"].encode(),
        null_marker=text["null.marker"].encode() or None,
    )
    _check_different(result, text)
    return result


def _check_different(result: LineFormat, text: Mapping[str, str]) -> None:
    """The key's separator may be any: the headers have been cut off when it is looked for."""
    of_headers = [name for name in DEFAULTS if name.startswith("headers.")]
    used = of_headers if result.parse_headers else []
    for name in used:
        if not text[name]:
            raise UsageError(f"--reader-property: {name} may not be empty")
    rivals = list(itertools.combinations(used, 2))
    if result.null_marker is not None:
        marked = [*used, "key.separator"] if result.parse_key else used
        rivals += [("null.marker", name) for name in marked]
    for name, other in rivals:
        if text[name] == text[other]:
            raise UsageError(f"--reader-property: {name} and {other} may not be equal")


def shown(data: bytes, *, most: int = 80) -> str:
    """Some of a record's bytes, for a line that people read."""
    text = data[:most].decode("utf-8", "backslashreplace")
    plain = "".join(
        each if each.isprintable() or each == "\t" else repr(each)[1:-1] for each in text
    )
    return plain + ("..." if len(data) > most else "")
