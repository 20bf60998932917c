"""Payload logs: one line a record, `topic,partition,key,value`, so that two can be compared.

Only the first three commas separate: a value is the rest of the line as it is, with its commas,
quotes, dashes and backslashes.  What would break a line is written in other letters: the ends of
lines in it as `\\n` and `\\r`, a comma in a key as `\\x2c`, bytes that are no UTF-8 as `\\xNN`.
What is null is empty.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, TextIO

from barnabas.lab.verdict.judging import by_number

PATTERN = "payload*.log"


class PayloadLine(NamedTuple):
    """One record."""

    topic: str
    partition: int
    key: str
    value: str

    def __str__(self) -> str:
        return f"{self.topic},{self.partition},{self.key},{self.value}"


class PayloadError(ValueError):
    """A line that is none of a payload log."""


def value_text(data: bytes | None) -> str:
    """A value as the lab writes and compares it."""
    text = (data or b"").decode(errors="backslashreplace")
    return text.replace("\n", "\\n").replace("\r", "\\r")


def key_text(data: bytes | None) -> str:
    """A key as the lab writes and compares it: without commas, too."""
    return value_text(data).replace(",", "\\x2c")


def parse(line: str) -> PayloadLine:
    """A line without its end; `PayloadError` if it is none."""
    parts = line.split(",", 3)
    if len(parts) != 4 or not (parts[1].isascii() and parts[1].isdigit()):
        raise PayloadError(f"not a line topic,partition,key,value: {line[:80]}")
    return PayloadLine(parts[0], int(parts[1]), parts[2], parts[3])


def read_lines(path: Path) -> Iterator[PayloadLine]:
    """The lines of a file.  A last one without its end was being written as its writer died."""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if line.endswith(b"\n"):
                try:
                    yield parse(line[:-1].decode())
                except UnicodeDecodeError:
                    raise PayloadError(f"{path}:{number}: not UTF-8") from None
                except PayloadError as error:
                    raise PayloadError(f"{path}:{number}: {error}") from None


def in_order(lines: Iterable[PayloadLine]) -> list[PayloadLine]:
    """By topic, partition and key, so that equal contents are equal files."""
    return sorted(
        lines,
        key=lambda line: (line.topic, line.partition, by_number(line.key), line.value),
    )


class PayloadLog:
    """A log that is being written.  Lines are on their way to the system when `flush` returns: a
    program that is killed then has left them behind.
    """

    def __init__(self, path: Path, *, truncate: bool = False) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not truncate:
            _cut_torn_line(path)
        self.path = path
        self._file: TextIO = path.open("w" if truncate else "a", encoding="utf-8", newline="\n")

    def add(self, topic: str, partition: int, key: bytes | None, value: bytes | None) -> None:
        self._file.write(f"{PayloadLine(topic, partition, key_text(key), value_text(value))}\n")

    def flush(self) -> None:
        self._file.flush()

    def __enter__(self) -> PayloadLog:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def _cut_torn_line(path: Path) -> None:
    """Takes off what a writer that was killed left of a line: the next must not be glued to it."""
    if not path.exists():
        return
    with path.open("rb+") as file:
        end = file.seek(0, os.SEEK_END)
        data_end = end
        while data_end > 0:
            step = min(data_end, 4096)
            file.seek(data_end - step)
            found = file.read(step).rfind(b"\n")
            if found >= 0:
                data_end = data_end - step + found + 1
                break
            data_end -= step
        if data_end < end:
            file.truncate(data_end)
