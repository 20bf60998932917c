from __future__ import annotations

from typing import Any

import pytest

from barnabas.base.errors import ErrorCode
from barnabas.broker.handlers.k50_describe_user_scram_credentials import (
    describe_user_scram_credentials,
)
from barnabas.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from barnabas.protocol.messages.metadata_records import UserScramCredentialRecord


def ask(scene: Any, *users: str, everybody: bool = False) -> dict[str, Any]:
    request = DescribeUserScramCredentialsRequest(
        users=None if everybody else [UserName(name=user) for user in users]
    )
    answer = scene.call(describe_user_scram_credentials, request, 0)
    return {result.user: result for result in answer.results}


def told(result: Any) -> list[tuple[int, int]]:
    assert (result.error_code, result.error_message) == (0, None)
    return [(info.mechanism, info.iterations) for info in result.credential_infos]


@pytest.fixture
def scene(world: Any) -> Any:
    world.replay(
        *(
            UserScramCredentialRecord(name=name, mechanism=mechanism, iterations=iterations)
            for name, mechanism, iterations in [("a", 2, 8192), ("b", 1, 4096), ("a", 1, 4096)]
        )
    )
    return world


@pytest.mark.parametrize("everybody", [True, False])
def test_all_users_are_told_when_none_is_named(scene: Any, everybody: bool) -> None:
    found = ask(scene, everybody=everybody)

    assert {user: told(result) for user, result in found.items()} == {
        "a": [(1, 4096), (2, 8192)],
        "b": [(1, 4096)],
    }


def test_users_that_are_unknown_or_named_twice_are_errors_of_their_own(scene: Any) -> None:
    found = ask(scene, "a", "nobody", "b", "b")

    assert told(found["a"]) == [(1, 4096), (2, 8192)]
    assert (found["nobody"].error_code, found["nobody"].error_message) == (
        ErrorCode.RESOURCE_NOT_FOUND,
        "Attempt to describe a user credential that does not exist: nobody",
    )
    assert (found["b"].error_code, found["b"].error_message) == (
        ErrorCode.DUPLICATE_RESOURCE,
        "Cannot describe SCRAM credentials for the same user twice in a single request: b",
    )
