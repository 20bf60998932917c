"""A broker that waits for its controller says where it looks, if there is a place."""

from __future__ import annotations

import asyncio
import logging

import pytest

from barnabas.base.settings import BrokerConfig
from barnabas.broker.joining import Joining

WAIT_S = 30


class Nowhere:
    """Nobody is the controller."""

    def address(self) -> None:
        return None

    def not_there(self, address: object) -> None:
        raise AssertionError("nobody was asked")


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"zookeeper.connect": "zk:2181"}, "waiting for a controller"),
        (
            {"process.roles": "broker", "controller.quorum.bootstrap.servers": "a:1,b:2"},
            "waiting for a controller at a:1, b:2",
        ),
    ],
)
def test_who_waits_says_so_once(
    caplog: pytest.LogCaptureFixture, settings: dict[str, str], line: str
) -> None:
    caplog.set_level(logging.INFO, "barnabas.node")

    async def scenario() -> None:
        joining = Joining(
            BrokerConfig.from_properties({"node.id": "1", **settings}),
            asyncio.get_running_loop(),
            cluster_id=None,
            on_expelled=lambda: None,
            whereabouts=Nowhere(),
        )
        waiting = asyncio.ensure_future(joining.cluster_id())
        while not caplog.messages:
            await asyncio.sleep(0)
        await asyncio.sleep(0.25)
        waiting.cancel()
        joining.close()

    asyncio.run(asyncio.wait_for(scenario(), WAIT_S))
    assert caplog.messages == [line]
