"""FindCoordinator, API 10: request and response."""

from typing import Annotated

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import (
    Int8,
    Int16,
    Int32,
    NullableString,
    String,
    ignorable,
    since,
    until,
)


class FindCoordinatorRequest(Message, api_key=10, versions="0-6", flexible="3+"):
    """Which broker coordinates a group, a transactional id or a share partition.

    v1: the type of the key (KIP-98).  v3: flexible.  v4: many keys at once (KIP-699).  v5:
    TRANSACTION_ABORTABLE (KIP-890).  v6: share groups (KIP-932).
    """

    key: Annotated[String, until(3)] = ""
    key_type: Annotated[Int8, since(1)] = 0
    coordinator_keys: Annotated[list[String], since(4)] = []


class Coordinator(Struct):
    key: String = ""
    node_id: Int32 = 0
    host: String = ""
    port: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = ""


class FindCoordinatorResponse(Message, api_key=10, versions="0-6", flexible="3+"):
    throttle_time_ms: Annotated[Int32, since(1), ignorable] = 0
    error_code: Annotated[Int16, until(3)] = 0
    error_message: Annotated[NullableString, since(1), until(3), ignorable] = ""
    node_id: Annotated[Int32, until(3)] = 0
    host: Annotated[String, until(3)] = ""
    port: Annotated[Int32, until(3)] = 0
    coordinators: Annotated[list[Coordinator], since(4)] = []
