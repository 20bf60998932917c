"""OffsetCommit: a group notes how far it has got.

Partitions that do not exist are refused here; the rest is the coordinator's to decide.

v2: membership.  v6: leader epochs.  v7: static members.  v9: members of consumer groups (KIP-848).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.base.errors import UnknownTopicOrPartition
from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.broker.handlers.group_calls import add_refused, ask_groups, call, take_unknown
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

    unknown = take_unknown(broker, request)
    if not unknown:
        return ask_groups(broker, ctx, request)
    refused: OffsetCommitResponse = refuse(
        OffsetCommitRequest(topics=unknown), UnknownTopicOrPartition(), ctx.api_version
    )
    if not request.topics:
        return refused
    later = Later()

    def answered(response: OffsetCommitResponse) -> None:
        add_refused(response, refused.topics)
        later.resolve(response)

    broker.groups.handle(call(ctx, request), answered)
    return later
