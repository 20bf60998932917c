"""Lines or JSON: the same rows, and only what was asked for is made."""

from __future__ import annotations

import enum
import json
from dataclasses import dataclass

import pytest

from barnabas.cli.common import JSON
from barnabas.cli.options import parse
from barnabas.cli.printing import plain, show


class State(enum.Enum):
    IN_SYNC = 1


@dataclass(frozen=True)
class Row:
    topic: str
    replicas: tuple[int, ...]
    state: State | None = None


def never() -> list[str]:
    raise AssertionError("not asked for")


def test_lines_are_printed_unless_json_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    show(parse([JSON], []), lines=lambda: ["a", "b"], document=never)
    assert capsys.readouterr().out == "a\nb\n"


def test_json_is_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [Row("é", (1, 2), State.IN_SYNC), Row("u", ())]
    show(parse([JSON], ["--json"]), lines=never, document=lambda: rows)
    out = capsys.readouterr().out
    assert json.loads(out) == [
        {"topic": "é", "replicas": [1, 2], "state": "in_sync"},
        {"topic": "u", "replicas": [], "state": None},
    ]
    assert "é" in out


def test_no_rows_are_an_empty_list(capsys: pytest.CaptureFixture[str]) -> None:
    show(parse([JSON], ["--json"]), lines=never, document=list)
    assert capsys.readouterr().out == "[]\n"


def test_sets_are_in_order_and_keys_are_text() -> None:
    assert plain({1: {"b", "a"}, "x": frozenset({2, 1})}) == {"1": ["a", "b"], "x": [1, 2]}


@pytest.mark.parametrize("value", [b"bytes", object(), Row])
def test_what_has_no_form_in_json_is_a_bug(value: object) -> None:
    with pytest.raises(TypeError, match="no place in JSON"):
        plain(value)
