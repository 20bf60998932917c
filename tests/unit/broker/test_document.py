"""The table of APIs in the compatibility page."""

from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.broker.dispatch import HANDLERS, load_handlers
from barnabas.broker.document import BEGIN, END, PAGE, NoMarks, main, render, updated
from barnabas.protocol.apis import ApiKey, api

ROOT = Path(__file__).parents[3]


def test_the_page_has_the_table_as_it_is_now() -> None:
    page = (ROOT / PAGE).read_text(encoding="utf-8")

    assert updated(page) == page, "run: python -m barnabas.broker.document"


NEWER = {ApiKey.FETCH: 18}
"""Answered beyond Kafka 4.0's: 4.3's ReplicaVerificationTool sends it without asking."""


@pytest.mark.parametrize("key", sorted(load_handlers()), ids=lambda key: ApiKey(key).name)
def test_an_api_is_answered_in_every_version_that_kafka_advertises(key: int) -> None:
    entry = HANDLERS[key]

    newest = NEWER.get(ApiKey(key), api(key).advertised[-1])
    assert (entry.version_min, entry.version_max) == (api(key).advertised[0], newest)


def test_every_api_of_a_broker_has_a_row_and_controllers_apis_have_none() -> None:
    rows = [line.split(" | ") for line in render().splitlines() if line.startswith("| ")]
    names = {cells[0].removeprefix("| ") for cells in rows}

    assert {"Produce", "Fetch", "JoinGroup", "CreateAcls"} <= names
    assert not {"Vote", "BrokerRegistration", "Envelope", "ShareFetch"} & names


def test_only_what_stands_between_the_marks_is_rewritten(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}old\n{END}after\n", encoding="utf-8")

    assert main([str(page)]) == 0

    assert page.read_text(encoding="utf-8") == f"before\n{BEGIN}{render()}{END}after\n"


@pytest.mark.parametrize("page", ["", BEGIN, END, END + BEGIN])
def test_a_page_without_marks_is_left_alone(page: str) -> None:
    with pytest.raises(NoMarks):
        updated(page)
