"""Which quotas match which filter.  Messages are those of Apache Kafka."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.base.errors import ErrorCode
from barnabas.broker.handlers.k48_describe_client_quotas import describe_client_quotas
from barnabas.protocol.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
)
from barnabas.protocol.messages.metadata_records import ClientQuotaRecord, EntityData

EXACT, DEFAULT, ANY = 0, 1, 2
Part = tuple[str, int, str | None]

ENTITIES: dict[str, list[tuple[str, str | None]]] = {
    "alice": [("user", "alice")],
    "everybody": [("user", None)],
    "alice/app": [("user", "alice"), ("client-id", "app")],
    "alice/any app": [("client-id", None), ("user", "alice")],
    "app": [("client-id", "app")],
    "loopback": [("ip", "::1")],
}


@pytest.fixture
def scene(world: Any) -> Any:
    world.replay(
        *(
            ClientQuotaRecord(
                entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
                key="request_percentage",
                value=float(number),
            )
            for number, entity in enumerate(ENTITIES.values())
        )
    )
    return world


def ask(scene: Any, *parts: Part, strict: bool = False) -> Any:
    request = DescribeClientQuotasRequest(
        components=[
            ComponentData(entity_type=kind, match_type=how, match=name) for kind, how, name in parts
        ],
        strict=strict,
    )
    return scene.call(describe_client_quotas, request, 1)


@pytest.mark.parametrize(
    ("parts", "strict", "found"),
    [
        ([], False, set(ENTITIES)),
        ([], True, set()),
        ([("user", EXACT, "alice")], False, {"alice", "alice/app", "alice/any app"}),
        ([("user", EXACT, "alice")], True, {"alice"}),
        ([("user", EXACT, "")], False, set()),
        ([("user", DEFAULT, None)], True, {"everybody"}),
        ([("user", ANY, None)], True, {"alice", "everybody"}),
        ([("client-id", EXACT, "app")], False, {"alice/app", "app"}),
        (
            [("client-id", ANY, None), ("user", EXACT, "alice")],
            True,
            {"alice/app", "alice/any app"},
        ),
        ([("ip", ANY, None)], False, {"loopback"}),
        ([("ip", DEFAULT, None)], False, set()),
    ],
)
def test_what_matches(scene: Any, parts: list[Part], strict: bool, found: set[str]) -> None:
    answer = ask(scene, *parts, strict=strict)

    names = list(ENTITIES)
    values = [entry.values[0] for entry in answer.entries]
    assert answer.error_code == 0
    assert {names[int(each.value)] for each in values} == found
    assert {each.key for each in values} <= {"request_percentage"}


@pytest.mark.parametrize(
    ("parts", "code", "message"),
    [
        ([("", EXACT, "x")], ErrorCode.INVALID_REQUEST, "Invalid empty entity type."),
        (
            [("user", EXACT, "a"), ("user", ANY, None)],
            ErrorCode.INVALID_REQUEST,
            "Entity type user cannot appear more than once in the filter.",
        ),
        ([("group", ANY, None)], ErrorCode.UNSUPPORTED_VERSION, "Unsupported entity type group"),
        (
            [("user", EXACT, None)],
            ErrorCode.INVALID_REQUEST,
            "Request specified MATCH_TYPE_EXACT, but set match string to null.",
        ),
        (
            [("user", DEFAULT, "a")],
            ErrorCode.INVALID_REQUEST,
            "Request specified MATCH_TYPE_DEFAULT, but also specified a match string.",
        ),
        (
            [("user", ANY, "a")],
            ErrorCode.INVALID_REQUEST,
            "Request specified MATCH_TYPE_SPECIFIED, but also specified a match string.",
        ),
        ([("user", 3, None)], ErrorCode.INVALID_REQUEST, "Unknown match type 3"),
        (
            [("ip", ANY, None), ("user", ANY, None)],
            ErrorCode.INVALID_REQUEST,
            "IP filter component should not be used with user or clientId filter component.",
        ),
    ],
)
def test_what_makes_no_sense(scene: Any, parts: list[Part], code: ErrorCode, message: str) -> None:
    answer = ask(scene, *parts)

    assert (answer.error_code, answer.entries) == (code, None)
    assert message in answer.error_message
