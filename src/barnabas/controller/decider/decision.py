"""What every decider takes and gives."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from barnabas.base.ids import id_text
from barnabas.base.settings import BrokerConfig
from barnabas.controller.image_types import ResourceType
from barnabas.controller.sessions import BrokerSessions

if TYPE_CHECKING:
    from barnabas.controller.image import ClusterImage
    from barnabas.protocol.message import Message

PARTITIONS_PER_REQUEST_MAX = 10_000
"""More new partitions in one request are refused: the request would stall everybody else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Records to commit, all or none, and what to answer once they are."""

    records: tuple[Message, ...] = ()
    response: Message


@dataclass(slots=True, kw_only=True)
class Environment:
    """What a decision depends on besides the image, the request and the time.

    With the same environment (its random source in the same state) the same decision is made.
    """

    config: BrokerConfig
    """Of the controller's own node, without dynamic settings: those are in the image."""
    sessions: BrokerSessions
    random: random.Random = field(default_factory=random.SystemRandom)
    _effective: tuple[object, object, BrokerConfig] | None = None

    def effective_config(self, image: ClusterImage) -> BrokerConfig:
        """The settings of the controller's node with the dynamic ones over them."""
        cluster = image.config(ResourceType.BROKER, "")
        broker = image.config(ResourceType.BROKER, str(self.config.node_id))
        if not cluster and not broker:
            return self.config
        known = self._effective
        if known is None or known[0] is not cluster or known[1] is not broker:
            known = (cluster, broker, self.config.with_dynamic(cluster, broker))
            self._effective = known
        return known[2]

    def new_id(self) -> bytes:
        """A new id from the random source; never a reserved one, and no command option as text."""
        while True:
            raw = self.random.randbytes(16)
            raw = raw[:6] + bytes((raw[6] & 0x0F | 0x40, raw[7], raw[8] & 0x3F | 0x80)) + raw[9:]
            if not id_text(raw).startswith("-"):
                return raw
