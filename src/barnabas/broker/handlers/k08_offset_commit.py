"""OffsetCommit: a group notes how far it has got.

Partitions of topics that do not exist are refused here; the rest is the coordinator's to decide.

v2: membership.  v6: leader epochs.  v7: static members.  v9: members of consumer groups (KIP-848).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.base.errors import UnknownTopicOrPartition
from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.broker.handlers.group_calls import ask_groups, call
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.protocol.message import Message


@handles(ApiKey.OFFSET_COMMIT, versions=(2, 9))
def offset_commit(
    broker: Broker, ctx: RequestContext, request: OffsetCommitRequest
) -> Message | Later:
    from barnabas.coordinator.group.refusals import refuse

    if all(topic.name in broker.image.topics for topic in request.topics):
        return ask_groups(broker, ctx, request)
    asked = request.topics
    request.topics = [topic for topic in asked if topic.name in broker.image.topics]
    unknown = OffsetCommitRequest(topics=[t for t in asked if t.name not in broker.image.topics])
    refused: OffsetCommitResponse = refuse(unknown, UnknownTopicOrPartition(), ctx.api_version)
    if asked and not request.topics:
        return refused
    later = Later()

    def answered(response: OffsetCommitResponse) -> None:
        response.topics.extend(refused.topics)
        later.resolve(response)

    broker.groups.handle(call(ctx, request), answered)
    return later
