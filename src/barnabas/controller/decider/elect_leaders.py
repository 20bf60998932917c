"""ElectLeaders: the preferred replica takes over, or an unclean one where nobody else can.

An unclean election by hand needs no setting that allows it: asking for it is allowing it.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from barnabas.base.errors import (
    ApiError,
    ElectionNotNeeded,
    EligibleLeadersNotAvailable,
    ErrorCode,
    InvalidRequest,
    PreferredLeaderNotAvailable,
    UnknownTopicOrPartition,
    code_for,
)
from barnabas.controller.decider.decision import Decision, Environment
from barnabas.controller.decider.elections import Ballot, Elections, Wish
from barnabas.controller.image_types import NO_LEADER
from barnabas.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)

if TYPE_CHECKING:
    from barnabas.controller.image import ClusterImage
    from barnabas.protocol.message import Message
    from barnabas.protocol.messages.metadata_records import PartitionChangeRecord


class ElectionType(enum.IntEnum):
    """As on the wire."""

    PREFERRED = 0
    UNCLEAN = 1


_BALLOTS = {ElectionType.PREFERRED: Ballot.PREFERRED, ElectionType.UNCLEAN: Ballot.UNCLEAN}


def decide(
    image: ClusterImage, request: ElectLeadersRequest, now_ms: int, env: Environment
) -> Decision:
    """Each partition by itself.  Asked for all, the answer is only about those that need it."""
    try:
        kind = ElectionType(request.election_type)
    except ValueError:
        unknown = InvalidRequest(f"Unknown election type {request.election_type}")
        return Decision(response=refuse(request, unknown))
    elections = Elections(image, env)
    records: dict[tuple[str, int], Message] = {}
    topics = []
    for name, indexes in _asked(image, request):
        results = []
        for index in indexes:
            result = PartitionResult(partition_id=index, error_message=None)
            try:
                if (name, index) in records:
                    raise ElectionNotNeeded  # elected a moment ago, for this same request
                records[name, index] = _elect(image, elections, name, index, kind)
            except ApiError as error:
                result.error_code, result.error_message = int(code_for(error)), error.message
            unneeded = result.error_code == ErrorCode.ELECTION_NOT_NEEDED
            if request.topic_partitions is not None or not unneeded:
                results.append(result)
        topics.append(ReplicaElectionResult(topic=name, partition_result=results))
    return Decision(
        records=tuple(records.values()),
        response=ElectLeadersResponse(replica_election_results=topics),
    )


def refuse(request: ElectLeadersRequest, error: Exception) -> ElectLeadersResponse:
    """The answer when nothing of the request could be done: said of the whole and of each."""
    code, message = code_for(error), error.message if isinstance(error, ApiError) else None
    return ElectLeadersResponse(
        error_code=code,
        replica_election_results=[
            ReplicaElectionResult(
                topic=topic.topic,
                partition_result=[
                    PartitionResult(partition_id=index, error_code=code, error_message=message)
                    for index in topic.partitions
                ],
            )
            for topic in request.topic_partitions or ()
        ],
    )


def _asked(image: ClusterImage, request: ElectLeadersRequest) -> list[tuple[str, list[int]]]:
    if request.topic_partitions is not None:
        return [(topic.topic, topic.partitions) for topic in request.topic_partitions]
    return [(topic.name, list(range(len(topic.partitions)))) for topic in image.topics.values()]


def _elect(
    image: ClusterImage, elections: Elections, name: str, index: int, kind: ElectionType
) -> PartitionChangeRecord:
    topic = image.topics.get(name)
    if topic is None:
        raise UnknownTopicOrPartition(f"No such topic as {name}")
    if not 0 <= index < len(topic.partitions):
        raise UnknownTopicOrPartition(f"No such partition as {name}-{index}")
    partition = topic.partitions[index]
    if kind is ElectionType.PREFERRED:
        needed = partition.leader != partition.replicas[0]
    else:
        needed = partition.leader == NO_LEADER
    if not needed:
        raise ElectionNotNeeded
    record = elections.plan(topic, index, Wish(ballot=_BALLOTS[kind]))
    if record is not None:
        return record
    if kind is ElectionType.PREFERRED:
        raise PreferredLeaderNotAvailable
    raise EligibleLeadersNotAvailable
