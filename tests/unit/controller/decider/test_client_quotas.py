"""Messages here are those of Apache Kafka's controller, except where ours say more."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.base.errors import ErrorCode, NotController
from barnabas.controller import decider
from barnabas.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    OpData,
    RequestEntryData,
)

Entity = list[tuple[str, str | None]]
Ops = dict[str, float | None]
INVALID = int(ErrorCode.INVALID_REQUEST)


def entry(entity: Entity, *ops: tuple[str, float | None]) -> RequestEntryData:
    return RequestEntryData(
        entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
        ops=[OpData(key=key, value=value or 0.0, remove=value is None) for key, value in ops],
    )


def request(*entries: RequestEntryData, validate_only: bool = False) -> AlterClientQuotasRequest:
    return AlterClientQuotasRequest(entries=list(entries), validate_only=validate_only)


def outcome(response: Any) -> list[tuple[int, str | None]]:
    return [(each.error_code, each.error_message) for each in response.entries]


USER: Entity = [("user", "u")]


@pytest.mark.parametrize(
    "entity",
    [
        [("user", "u")],
        [("user", None)],
        [("client-id", "c")],
        [("client-id", None)],
        [("user", "u"), ("client-id", "c")],
        [("client-id", None), ("user", "u")],
        [("user", None), ("client-id", None)],
    ],
)
def test_users_and_clients_by_name_and_default_can_have_quotas(single: Any, entity: Entity) -> None:
    response = single.do(
        request(
            entry(
                entity,
                ("producer_byte_rate", 1024.0),
                ("consumer_byte_rate", 9e15),
                ("request_percentage", 12.5),
                ("controller_mutation_rate", 0.5),
            )
        )
    )

    assert outcome(response) == [(0, None)]
    assert response.entries[0].entity == entry(entity).entity
    assert single.image.quotas == {
        tuple(sorted(entity)): {
            "producer_byte_rate": 1024.0,
            "consumer_byte_rate": 9e15,
            "request_percentage": 12.5,
            "controller_mutation_rate": 0.5,
        }
    }


@pytest.mark.parametrize("address", ["10.0.0.1", "::1", None])
def test_addresses_can_have_a_rate_of_connections(single: Any, address: str | None) -> None:
    asked = request(entry([("ip", address)], ("connection_creation_rate", 5.0)))

    assert outcome(single.do(asked)) == [(0, None)]
    assert single.image.quotas == {(("ip", address),): {"connection_creation_rate": 5.0}}


def test_only_what_changes_is_written(single: Any) -> None:
    single.do(request(entry(USER, ("producer_byte_rate", 1.0), ("request_percentage", 2.0))))

    again = single.decide(
        request(
            entry(
                USER,
                ("producer_byte_rate", 1.0),
                ("request_percentage", None),
                ("consumer_byte_rate", None),
                ("no such key", None),
            )
        )
    )

    assert [(record.key, record.remove) for record in again.records] == [
        ("request_percentage", True)
    ]


def test_nothing_is_written_when_it_is_only_to_be_checked(single: Any) -> None:
    decision = single.decide(request(entry(USER, ("request_percentage", 1.0)), validate_only=True))

    assert decision.records == ()
    assert outcome(decision.response) == [(0, None)]


@pytest.mark.parametrize(
    ("entity", "ops", "message"),
    [
        ([], {}, "Invalid empty client quota entity"),
        ([("group", "g")], {}, "Unhandled client quota entity type: group"),
        ([("user", "")], {}, "Empty user not supported"),
        (
            [("user", "u"), ("user", "v")],
            {},
            "Invalid client quota entity, duplicate entity entry user",
        ),
        (
            [("ip", "::1"), ("user", "u")],
            {},
            "IP entity should not be combined with User or ClientId",
        ),
        ([("ip", "no address")], {}, "no address is not a valid IP."),
        (USER, {"nonsense": 1.0}, "Invalid configuration key nonsense"),
        (USER, {"connection_creation_rate": 1.0}, "Invalid configuration key"),
        ([("ip", None)], {"producer_byte_rate": 1.0}, "Invalid configuration key"),
        (USER, {"producer_byte_rate": 0.0}, "Quota producer_byte_rate must be greater than 0"),
        (USER, {"request_percentage": -1.0}, "Quota request_percentage must be greater than 0"),
        (USER, {"request_percentage": float("nan")}, "must be greater than 0"),
        (USER, {"consumer_byte_rate": 1.5}, "consumer_byte_rate cannot be a fractional value."),
        (USER, {"consumer_byte_rate": 1e19}, "is too large for a LONG."),
        (
            [("ip", None)],
            {"connection_creation_rate": 3e9},
            "Proposed value for connection_creation_rate is too large for an INT.",
        ),
    ],
)
def test_what_is_refused_and_why(single: Any, entity: Entity, ops: Ops, message: str) -> None:
    good = entry([("client-id", "other")], ("producer_byte_rate", 1.0))
    decision = single.decide(request(entry(entity, *ops.items()), good))

    (code, told), second = outcome(decision.response)
    assert code == INVALID
    assert message in (told or "")
    assert second == (0, None)
    assert len(decision.records) == 1


def test_an_entity_is_changed_as_a_whole_or_not_at_all(single: Any) -> None:
    decision = single.decide(
        request(entry(USER, ("producer_byte_rate", 1.0), ("consumer_byte_rate", -1.0)))
    )

    assert decision.records == ()


def test_a_key_and_an_entity_count_once(single: Any) -> None:
    twice = entry(USER, ("request_percentage", 1.0), ("request_percentage", 2.0))
    entities = [
        entry([("client-id", None), ("user", "u")], ("request_percentage", 1.0)),
        entry([("user", "u"), ("client-id", None)], ("request_percentage", 2.0)),
    ]

    decision = single.decide(request(twice, *entities))

    whom = "ClientQuotaEntity(entries={user=u})"
    assert outcome(decision.response) == [
        (
            INVALID,
            f"Duplicate quota key request_percentage not updating quota for this entity {whom}",
        ),
        (0, None),
        (
            INVALID,
            "Ignoring duplicate entity ClientQuotaEntity(entries={client-id=null, user=u})",
        ),
    ]
    assert [record.value for record in decision.records] == [1.0]


def test_a_refusal_is_told_for_each_entity() -> None:
    refused: Any = decider.refuse(
        request(entry(USER), entry([("client-id", "c")])), NotController()
    )

    assert [each.error_code for each in refused.entries] == [int(ErrorCode.NOT_CONTROLLER)] * 2
