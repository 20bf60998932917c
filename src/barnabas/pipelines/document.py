"""Writes the reference page of pipelines: `python -m barnabas.pipelines.document [file]`."""

from __future__ import annotations

import sys
from pathlib import Path

from barnabas.pipelines.declaring import Setting, settings_of
from barnabas.pipelines.definition import (
    Archive,
    FromTopics,
    OnSpark,
    Reconcile,
    Replay,
    Transform,
)

PAGE = "docs/pipelines/reference.md"

_TOP = """\
# Settings of pipelines
Every setting of every pipeline: as an option of the command, as a key of a TOML or YAML file, or as
a comment above the query of a SQL file. What is typed wins over the file.

    barnabas pipeline archive --topic orders --to lake --once

is the same as `barnabas pipeline archive --file orders.toml` with

    topic = ["orders"]
    to = "lake"
    once = true

Settings that are pairs are tables in files: `[schema]` with `prices = "symbol STRING"` in TOML,
`-- schema.prices: symbol STRING` in SQL. Lists may be written as one text with commas.

This page is generated: run `python -m barnabas.pipelines.document`.

"""
_SECTIONS: tuple[tuple[str, type, type | None], ...] = (
    ("All pipelines", OnSpark, None),
    ("Pipelines that read topics: archive and transform", FromTopics, OnSpark),
    ("archive", Archive, FromTopics),
    ("transform", Transform, FromTopics),
    ("replay", Replay, OnSpark),
    ("reconcile", Reconcile, OnSpark),
)


def render() -> str:
    """The whole page."""
    parts = [_TOP]
    for title, definition, base in _SECTIONS:
        shared = {each.name for each in settings_of(base)} if base is not None else set()
        own = [each for each in settings_of(definition) if each.name not in shared]
        parts += [f"## {title}\n", "| setting | |\n|---|---|\n", *map(_row, own), "\n"]
    return "".join(parts).rstrip() + "\n"


def _row(setting: Setting) -> str:
    needed = " Needed." if setting.is_required else ""
    value = f" {setting.value}" if setting.value else ""
    text = f"{setting.help}{needed}".replace("|", "\\|")
    return f"| `--{setting.name}{value}` | {text} |\n"


def main() -> None:
    target = Path(sys.argv[1] if len(sys.argv) > 1 else PAGE)
    target.write_text(render(), encoding="utf-8")


if __name__ == "__main__":
    main()
