"""BrokerHeartbeat, API 63: request and response."""

from typing import Annotated

from barnabas.protocol.message import Message
from barnabas.protocol.types import Bool, Int16, Int32, Int64, Uuid, since, tag


class BrokerHeartbeatRequest(Message, api_key=63, versions="0-1", flexible="0+"):
    """A broker says that it is alive, how far it has replayed, and what it wants (KIP-631).

    v1: log directories that failed (KIP-858).
    """

    broker_id: Int32 = 0
    broker_epoch: Int64 = -1
    current_metadata_offset: Int64 = 0
    want_fence: Bool = False
    want_shut_down: Bool = False
    offline_log_dirs: Annotated[list[Uuid], since(1), tag(0)] = []


class BrokerHeartbeatResponse(Message, api_key=63, versions="0-1", flexible="0+"):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    is_caught_up: Bool = False
    is_fenced: Bool = True
    should_shut_down: Bool = False
