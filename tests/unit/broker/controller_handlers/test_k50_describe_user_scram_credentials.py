"""A controller tells of credentials what a broker tells; one that is not active does not know."""

from __future__ import annotations

import asyncio

import pytest
from controller_world import ControllerWorld

from barnabas.base.errors import NotController
from barnabas.broker.controller_handlers.k50_describe_user_scram_credentials import (
    describe_user_scram_credentials,
)
from barnabas.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from barnabas.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
)


def test_credentials_are_told_where_they_are_decided() -> None:
    async def scenario() -> None:
        world = ControllerWorld()
        request = DescribeUserScramCredentialsRequest(users=None)
        ctx = world.context(0)
        with pytest.raises(NotController):
            describe_user_scram_credentials(world.part, ctx, request)
        world.part.activate()
        upsertion = ScramCredentialUpsertion(name="u", mechanism=1, iterations=4096)
        world.submit(AlterUserScramCredentialsRequest(upsertions=[upsertion]))

        (told,) = describe_user_scram_credentials(world.part, ctx, request).results

        assert told.user == "u"
        assert [(info.mechanism, info.iterations) for info in told.credential_infos] == [(1, 4096)]

    asyncio.run(scenario())
