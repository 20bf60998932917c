from __future__ import annotations

import base64
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.base import ids
from barnabas.base.ids import NO_ID, id_text, parse_id, random_id

raw_ids = st.binary(min_size=16, max_size=16)


@given(raw_ids)
def test_text_is_unpadded_url_safe_base64_and_parses_back(raw: bytes) -> None:
    text = id_text(raw)

    assert text == base64.urlsafe_b64encode(raw).decode().rstrip("=")
    assert len(text) == 22
    assert parse_id(text) == raw


def test_the_id_that_stands_for_none() -> None:
    assert id_text(NO_ID) == "A" * 22


@pytest.mark.parametrize(
    "text",
    [
        "",
        "A" * 21,
        "A" * 23,
        "A" * 24,
        "A" * 22 + "==",
        "A" * 21 + "B",
        "A" * 21 + "+",
        "A" * 21 + "/",
        "A" * 21 + "\n",
        " " + "A" * 21,
        "ä" * 22,
    ],
)
def test_what_is_not_an_id_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not an id"):
        parse_id(text)


@given(st.text())
def test_parsing_any_text_gives_an_id_with_that_text_or_a_value_error(text: str) -> None:
    try:
        raw = parse_id(text)
    except ValueError:
        return
    assert id_text(raw) == text


def test_random_ids_differ_and_never_look_like_an_option() -> None:
    drawn = [random_id() for _ in range(2_000)]

    assert len(set(drawn)) == len(drawn)
    assert not [raw for raw in drawn if id_text(raw).startswith("-")]


def test_random_ids_are_uuids_of_version_4() -> None:
    assert {uuid.UUID(bytes=random_id()).version for _ in range(100)} == {4}


def test_an_id_whose_text_starts_with_a_dash_is_drawn_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dash, good = bytes([0xF8]) + bytes(15), bytes([1]) + bytes(15)
    draws = iter([dash, good])
    monkeypatch.setattr(ids, "source", lambda _size: next(draws))

    assert id_text(dash).startswith("-")
    assert random_id()[0] == 1
    assert not list(draws)


def test_even_the_lowest_random_id_is_above_the_reserved_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ids, "source", bytes)

    assert int.from_bytes(random_id()) >= 100
