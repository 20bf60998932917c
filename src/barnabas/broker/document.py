"""Writes the table of APIs: `python -m barnabas.broker.document [file]`.

The table stands between two marks in `docs/compatibility.md`; the rest of the page is written by
hand.  Its rows are the handler table and what a Kafka 4.0 broker advertises, side by side.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.broker.dispatch import load_handlers
from barnabas.protocol.apis import APIS

if TYPE_CHECKING:
    from barnabas.broker.dispatch import Entry
    from barnabas.protocol.apis import Api

PAGE = "docs/compatibility.md"
BEGIN = "<!-- begin: python -m barnabas.broker.document -->\n"
END = "<!-- end -->\n"

_HEAD = "| API | Key | Barnabas | Kafka 4.0 |\n|---|---|---|---|\n"


class NoMarks(Exception):  # noqa: N818 (says what happened)
    """The page has no place for the table."""


def render() -> str:
    """The table: every API that a Kafka 4.0 broker offers to clients, by key."""
    handlers = load_handlers()
    offered = [api for api in APIS.values() if "broker" in api.listeners and len(api.advertised)]
    rows = [_row(api, handlers.get(api.key)) for api in offered]
    answered = sum(1 for api in offered if api.key in handlers)
    return (
        f"{answered} of the {len(offered)} APIs of a Kafka 4.0 broker are answered, each in every "
        f"version that it advertises.\n\n{_HEAD}{''.join(rows)}"
    )


def _row(api: Api, entry: Entry | None) -> str:
    ours = "not yet" if entry is None else _versions(entry.version_min, entry.version_max)
    theirs = _versions(api.advertised[0], api.advertised[-1])
    return f"| {api.name} | {int(api.key)} | {ours} | {theirs} |\n"


def _versions(low: int, high: int) -> str:
    return str(low) if low == high else f"{low}-{high}"


def updated(page: str) -> str:
    """`page` with the table as it is now."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise NoMarks(f"no line {BEGIN!r} followed by a line {END!r}")
    return f"{before}{begin}{render()}{end}{after}"


def main(arguments: list[str]) -> int:
    path = Path(arguments[0] if arguments else PAGE)
    path.write_text(updated(path.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
