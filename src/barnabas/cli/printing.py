"""How tools print what they found: lines as Apache Kafka has them, or the same rows as JSON.

A listing command declares `common.JSON` and ends with `show`.  The JSON is one document: a list of
objects, one a row (or one object where there is only one thing to show); keys are in snake case,
numbers are numbers, and what is not known is null.
"""

from __future__ import annotations

import dataclasses
import enum
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from barnabas.cli.options import Parsed


def show(
    args: Parsed, *, lines: Callable[[], Iterable[str]], document: Callable[[], object]
) -> None:
    """Prints the lines, or with `--json` the document; only the one asked for is made."""
    if args.has("json"):
        print_json(document())
    else:
        print_lines(lines())


def print_lines(lines: Iterable[str]) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))


def print_json(document: object) -> None:
    import json

    sys.stdout.write(json.dumps(plain(document), indent=2, ensure_ascii=False) + "\n")


def table(heading: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Columns as wide as they need to be, each cell followed by a tab."""
    cells = [list(heading), *([str(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "".join(f"{cell:<{width}}\t" for cell, width in zip(row, widths, strict=True))
        for row in cells
    ]


def plain(value: object) -> Any:
    """Rows as JSON knows them: dataclasses become objects, other sequences and sets lists, members
    of enums their names.
    """
    match value:
        case None | bool() | int() | float() | str() if not isinstance(value, enum.Enum):
            return value
        case enum.Enum():
            return value.name.lower()
        case Mapping():
            return {str(key): plain(each) for key, each in value.items()}
        case set() | frozenset():
            return sorted(plain(each) for each in value)
        case Sequence() if not isinstance(value, bytes | bytearray):
            return [plain(each) for each in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    raise TypeError(f"{value!r} has no place in JSON")
