"""DeleteTopics, API 20: request and response."""

from typing import Annotated

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import (
    NO_UUID,
    Int16,
    Int32,
    NullableString,
    String,
    Uuid,
    ignorable,
    nullable_since,
    since,
    until,
)


class DeleteTopicState(Struct):
    name: NullableString = None
    topic_id: Uuid = NO_UUID


class DeleteTopicsRequest(Message, api_key=20, versions="0-6", flexible="4+"):
    """Deletes topics.

    v4: flexible.  v5: a message with the error.  v6: by topic id too (KIP-516).
    """

    topics: Annotated[list[DeleteTopicState], since(6)] = []
    topic_names: Annotated[list[String], until(5), ignorable] = []
    timeout_ms: Int32 = 0


class DeletableTopicResult(Struct):
    name: Annotated[NullableString, nullable_since(6)] = ""
    topic_id: Annotated[Uuid, since(6), ignorable] = NO_UUID
    error_code: Int16 = 0
    error_message: Annotated[NullableString, since(5), ignorable] = None


class DeleteTopicsResponse(Message, api_key=20, versions="0-6", flexible="4+"):
    throttle_time_ms: Annotated[Int32, since(1), ignorable] = 0
    responses: list[DeletableTopicResult] = []
