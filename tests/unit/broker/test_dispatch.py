"""The table of handlers, and answers that are not known yet."""

from __future__ import annotations

import pytest

from barnabas.broker import dispatch
from barnabas.broker.dispatch import HANDLERS, Later, Table, handles, load_handlers
from barnabas.protocol.apis import BOTH, BROKER, CONTROLLER, ApiKey
from barnabas.protocol.message import Message
from barnabas.protocol.messages.metadata import MetadataResponse


def test_every_handler_module_is_in_the_table_under_its_own_key() -> None:
    table = load_handlers()

    assert table is HANDLERS
    for key, entry in table.items():
        module = entry.handler.__module__.rpartition(".")[2]
        assert module == f"k{key:02}_{ApiKey(key).name.lower()}"
        assert entry.key == key


def test_loading_twice_changes_nothing() -> None:
    before = dict(load_handlers())

    assert load_handlers() == before


def test_a_key_has_one_handler() -> None:
    load_handlers()
    with pytest.raises(AssertionError, match="METADATA has two handlers"):
        handles(ApiKey.METADATA, versions=(0, 1))(lambda broker, ctx, request: None)


def test_a_handler_is_only_in_the_tables_of_the_listeners_it_is_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tables: dict[str, Table] = {"broker": {}, "controller": {}}
    monkeypatch.setattr(dispatch, "_TABLES", tables)

    for key, on in ((0, BROKER), (62, CONTROLLER), (18, BOTH)):
        handles(ApiKey(key), versions=(0, 1), on=on)(lambda state, ctx, request: None)

    assert set(tables["broker"]) == {0, 18}
    assert set(tables["controller"]) == {62, 18}


class Heard:
    def __init__(self) -> None:
        self.answers: list[Message] = []
        self.abandoned = 0

    def abandon(self) -> None:
        self.abandoned += 1


@pytest.mark.parametrize("resolved_first", [True, False])
def test_an_answer_arrives_whether_it_was_known_before_or_not(resolved_first: bool) -> None:
    later, heard, answer = Later(), Heard(), MetadataResponse()
    if resolved_first:
        later.resolve(answer)
        later.when_done(heard.answers.append)
    else:
        later.when_done(heard.answers.append)
        assert heard.answers == []
        later.resolve(answer)

    assert heard.answers == [answer]


def test_a_request_is_answered_once() -> None:
    later = Later()
    later.resolve(MetadataResponse())

    with pytest.raises(AssertionError, match="answered once"):
        later.resolve(MetadataResponse())


def test_giving_up_is_told_to_who_prepares_the_answer() -> None:
    later, heard = Later(), Heard()
    later.on_abandon = heard.abandon

    later.abandon()

    assert heard.abandoned == 1


def test_there_is_nothing_to_give_up_once_the_answer_is_there() -> None:
    later, heard = Later(), Heard()
    later.on_abandon = heard.abandon
    later.resolve(MetadataResponse())

    later.abandon()

    assert heard.abandoned == 0


def test_giving_up_an_answer_that_nobody_prepares_is_fine() -> None:
    Later().abandon()


def test_an_answer_that_is_known_already_need_not_be_waited_for() -> None:
    later, failed = Later(), Later()
    assert later.settled() is later

    answer = MetadataResponse()
    later.resolve(answer)
    failed.resolve(ValueError("a fault of our own"))

    assert later.settled() is answer
    assert failed.settled() is failed
