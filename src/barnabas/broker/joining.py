"""A broker whose controller is elsewhere: all that ties it to the cluster, from start to stop.

Made of the way to the controller (`controller_link.py`), the metadata that comes from there
(`metadata_follower.py`), the requests that go there (`remote_controller.py`), and the broker's
place in the cluster (`membership.py`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode
from barnabas.broker.controller_link import (
    Candidates,
    ControllerLink,
    Whereabouts,
    candidates,
)
from barnabas.broker.handlers.k60_describe_cluster import CONTROLLERS
from barnabas.broker.membership import RETRY_S, CannotJoin, Membership
from barnabas.broker.metadata_follower import MetadataFollower
from barnabas.broker.net.planes import link_client_id
from barnabas.broker.registration import registration_request
from barnabas.broker.remote_controller import RemoteController
from barnabas.controller.decider.features import SUPPORTED
from barnabas.protocol.messages.describe_cluster import DescribeClusterRequest

if TYPE_CHECKING:
    from barnabas.base.settings import BrokerConfig
    from barnabas.broker.broker_part import BrokerPart
    from barnabas.broker.listeners import BoundListener
    from barnabas.client.node_connection import Address
    from barnabas.controller.image import ClusterImage
    from barnabas.storage.manager import LogManager

logger = logging.getLogger("barnabas.node")


class Joining:
    """In this order: `cluster_id`, `register`, `follow`, `enter`; in the end `leave`, `close`."""

    def __init__(
        self,
        config: BrokerConfig,
        loop: asyncio.AbstractEventLoop,
        *,
        cluster_id: str | None,
        on_expelled: Callable[[], None],
        whereabouts: Whereabouts | None = None,
    ) -> None:
        """`cluster_id`: what the log directories say; None if they are new.  `whereabouts`: where
        the controller is, if the settings do not name those that may be it."""
        self._config = config
        self._loop = loop
        self._known_id = cluster_id
        self._on_expelled = on_expelled
        self._link = ControllerLink(
            loop,
            whereabouts or Candidates(candidates(config)),
            client_id=link_client_id(config.node_id),
            timeout_s=config.int("controller.quorum.request.timeout.ms") / 1000,
            retry_s=config.int("controller.quorum.retry.backoff.ms") / 1000,
        )
        self._follower: MetadataFollower
        self._membership: Membership
        self.controller: RemoteController

    @property
    def image(self) -> ClusterImage:
        """The cluster as this broker has read it."""
        return self._follower.image

    async def cluster_id(self) -> str:
        """The cluster's, from its controller.  Waits for one, and says so."""
        has_said = False
        misleading: set[Address] = set()
        request = DescribeClusterRequest(endpoint_type=CONTROLLERS)
        while True:
            address = self._link.whereabouts.address()
            response = await self._link.ask(request)
            if response is not None:
                if not response.error_code:
                    break
                mismatch = response.error_code == ErrorCode.MISMATCHED_ENDPOINT_TYPE
                if mismatch and address is not None and address not in misleading:
                    misleading.add(address)
                    logger.warning("%s:%d is a broker's listener, not a controller's", *address)
            if not has_said:
                has_said = True
                servers = ", ".join(f"{host}:{port}" for host, port in candidates(self._config))
                logger.info("waiting for a controller%s", f" at {servers}" if servers else "")
            await asyncio.sleep(RETRY_S)
        found: str = response.cluster_id
        if self._known_id is not None and self._known_id != found:
            raise CannotJoin(
                f"the log directories belong to cluster {self._known_id}, the controller to {found}"
            )
        self._make(found)
        return found

    def _make(self, cluster_id: str) -> None:
        config = self._config
        self._follower = MetadataFollower(
            self._loop,
            self._link,
            node_id=config.node_id,
            cluster_id=cluster_id,
            fetch_bytes=config.int("controller.quorum.fetch.max.bytes"),
            snapshot_bytes=config.int("controller.quorum.fetch.snapshot.max.bytes"),
        )
        self.controller = RemoteController(
            self._loop,
            self._link,
            self._follower,
            timeout_s=config.int("request.timeout.ms") / 1000,
        )
        self._membership = Membership(
            config, self._loop, self._link, self._follower, on_expelled=self._on_expelled
        )

    async def register(self, listeners: Sequence[BoundListener], logs: LogManager) -> int:
        """The broker's epoch; `image` is up to date with it."""
        self._follower.start()
        await self._follower.caught_up()
        request = registration_request(
            self._config, self.image.cluster_id, listeners, logs, SUPPORTED
        )
        return await self._membership.register(request)

    def follow(self, part: BrokerPart) -> None:
        """Tell the broker from now on what changes, and what its epoch is."""
        part.broker.link = self._link
        self._follower.on_changes = part.follow
        self._membership.on_epoch = part.registered_again

    async def enter(self) -> None:
        """Have clients told of this broker; it serves already."""
        await self._membership.enter()
        self._membership.keep()
        self._follower.on_found = self._membership.beat_now
        self._link.on_lost = lambda _: self._membership.beat_now()

    async def leave(self) -> None:
        """Hand over what this broker leads."""
        if not await self._membership.leave():
            logger.warning("leaving without the controller's knowledge")

    def close(self) -> None:
        """End what ties it to the cluster; also where it was never tied."""
        if hasattr(self, "_membership"):
            self._link.on_lost = lambda _: None
            self._membership.stop()
            self._follower.stop()
        self._link.close()
