"""Metadata: the brokers, and topics with their partitions and leaders.

A topic that does not exist is created if the client and `auto.create.topics.enable` allow it; the
answer then waits for it, so that a client need not ask twice.

v0: an empty list of topics means all.  v1: null means all, an empty list none.  v4: the client says
whether it wants topics created.  v6: LISTENER_NOT_FOUND.  v7: leader epochs.  v8: authorized
operations (of the cluster until v10).  v9: flexible.  v10: topic ids in answers, v12: in requests.
v13: an error of the whole answer, by which a broker can send a client back to its bootstrap servers
(KIP-1102); this one never needs to.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from barnabas.base.errors import ErrorCode
from barnabas.base.ids import NO_ID
from barnabas.broker.dispatch import Later, RequestContext, handles
from barnabas.broker.handlers.auto_topics import creation_request
from barnabas.broker.handlers.cluster_view import (
    NO_NODE,
    controller_id,
    is_reachable,
    leader_of,
    named_brokers,
    offline_replicas,
)
from barnabas.broker.handlers.mutations import may_create
from barnabas.broker.handlers.shared import (
    CLUSTER_OPERATIONS,
    INTERNAL_TOPICS,
    OPERATIONS_NOT_ASKED,
    TOPIC_OPERATIONS,
    missing_topic,
)
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.create_topics import CreateTopicsResponse
from barnabas.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

if TYPE_CHECKING:
    from barnabas.broker.state import Broker
    from barnabas.controller.image_types import PartitionImage, TopicImage
    from barnabas.protocol.message import Message

logger = logging.getLogger("barnabas.requests")

NULL_IS_ALL_SINCE = 1
LISTENER_ERRORS_SINCE = 6
TOPIC_IDS_SINCE = 12


@handles(ApiKey.METADATA, versions=(0, 13))
def metadata(
    broker: Broker, ctx: RequestContext, request: MetadataRequest
) -> MetadataResponse | Later:
    view = _View(broker, ctx, request)
    topics = request.topics
    if topics is None or (not topics and ctx.api_version < NULL_IS_ALL_SINCE):
        return view.response(sorted(broker.image.topics), {})
    if _is_malformed(request, ctx.api_version):
        return _invalid(request)
    ids = list(dict.fromkeys(topic.topic_id for topic in topics if topic.topic_id != NO_ID))
    if ids:
        return view.response_by_id(ids)
    names = list(dict.fromkeys(topic.name for topic in topics if topic.name is not None))
    missing = {name: missing_topic(name) for name in names if name not in broker.image.topics}
    wanted = [n for n, error in missing.items() if error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    if (
        not wanted
        or not request.allow_auto_topic_creation
        or not broker.config.bool("auto.create.topics.enable")
    ):
        return view.response(names, missing)
    later = Later()

    def created(answer: Message) -> None:
        assert isinstance(answer, CreateTopicsResponse)
        later.resolve(view.response(names, missing | _creation_errors(answer)))

    creation = creation_request(broker.config, wanted)
    creation.topics = [
        topic for topic in creation.topics if may_create(broker, ctx, topic.num_partitions)
    ]
    if not creation.topics:
        return view.response(names, missing)
    broker.controller.submit(creation, created)
    return later


def _is_malformed(request: MetadataRequest, version: int) -> bool:
    """Topics are asked by name, since v12 also by id alone."""
    for topic in request.topics or ():
        if topic.name is None and (version < TOPIC_IDS_SINCE or topic.topic_id == NO_ID):
            return True
        if topic.topic_id != NO_ID and version < TOPIC_IDS_SINCE:
            return True
    return False


def _invalid(request: MetadataRequest) -> MetadataResponse:
    return MetadataResponse(
        topics=[
            MetadataResponseTopic(
                error_code=int(ErrorCode.INVALID_REQUEST),
                name=topic.name or "",
                topic_id=topic.topic_id,
            )
            for topic in request.topics or ()
        ]
    )


def _creation_errors(answer: CreateTopicsResponse) -> dict[str, ErrorCode]:
    """What to say of a topic that is still not there.  Retriable, if trying again may help."""
    errors = {}
    for topic in answer.topics:
        error = ErrorCode(topic.error_code)
        if error in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS) or error.retriable:
            error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        else:
            logger.warning("topic %s is not created: %s", topic.name, topic.error_message)
        errors[topic.name] = error
    return errors


class _View:
    """The answers to one request: what its client, in its version, is told of a topic."""

    __slots__ = ("_broker", "_listener", "_placed", "_request", "_version")

    def __init__(self, broker: Broker, ctx: RequestContext, request: MetadataRequest) -> None:
        self._broker = broker
        self._request = request
        self._version = ctx.api_version
        self._listener = ctx.listener.name
        self._placed: dict[tuple[object, ...], tuple[int, int, list[int]]] = {}

    def response(self, names: Iterable[str], missing: dict[str, ErrorCode]) -> MetadataResponse:
        image = self._broker.image
        topics = []
        for name in names:
            topic = image.topics.get(name)
            if topic is not None:
                topics.append(self._topic(topic))
            else:
                error = missing.get(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
                topics.append(self._missing(name, NO_ID, error))
        return self._whole(topics)

    def response_by_id(self, ids: list[bytes]) -> MetadataResponse:
        by_id = self._broker.image.topics_by_id
        return self._whole(
            [
                self._topic(by_id[topic_id])
                if topic_id in by_id
                else self._missing(None, topic_id, ErrorCode.UNKNOWN_TOPIC_ID)
                for topic_id in ids
            ]
        )

    def _whole(self, topics: list[MetadataResponseTopic]) -> MetadataResponse:
        broker, image = self._broker, self._broker.image
        asked = self._request.include_cluster_authorized_operations
        return MetadataResponse(
            brokers=[
                MetadataResponseBroker(
                    node_id=node.id, host=endpoint.host, port=endpoint.port, rack=node.rack
                )
                for node, endpoint in named_brokers(image, self._listener, self._left(topics))
            ],
            cluster_id=broker.cluster_id,
            controller_id=controller_id(image, broker.node_id),
            topics=topics,
            cluster_authorized_operations=CLUSTER_OPERATIONS if asked else OPERATIONS_NOT_ASKED,
        )

    def _left(self, topics: list[MetadataResponseTopic]) -> Collection[int]:
        """Brokers that died a moment ago, for who asks for what they had."""
        lately = self._broker.fenced_lately.ids()
        if not lately or not self._request.topics:
            return ()
        return {
            node
            for topic in topics
            for partition in topic.partitions
            for node in partition.replica_nodes
            if node in lately
        }

    @property
    def _operations(self) -> int:
        asked = self._request.include_topic_authorized_operations
        return TOPIC_OPERATIONS if asked else OPERATIONS_NOT_ASKED

    def _missing(
        self, name: str | None, topic_id: bytes, error: ErrorCode
    ) -> MetadataResponseTopic:
        return MetadataResponseTopic(
            error_code=int(error),
            name=name,
            topic_id=topic_id,
            is_internal=name in INTERNAL_TOPICS,
            topic_authorized_operations=self._operations,
        )

    def _topic(self, topic: TopicImage) -> MetadataResponseTopic:
        return MetadataResponseTopic(
            name=topic.name,
            topic_id=topic.id,
            is_internal=topic.name in INTERNAL_TOPICS,
            partitions=[
                self._partition(index, state) for index, state in enumerate(topic.partitions)
            ],
            topic_authorized_operations=self._operations,
        )

    def _partition(self, index: int, state: PartitionImage) -> MetadataResponsePartition:
        error, leader, offline = self._placement(state)
        replicas, isr = list(state.replicas), list(state.isr)
        if self._version == 0:  # the oldest clients are only told of brokers they can reach
            image, listener = self._broker.image, self._listener
            replicas = [node for node in replicas if is_reachable(image, node, listener)]
            isr = [node for node in isr if is_reachable(image, node, listener)]
            hidden = len(replicas) < len(state.replicas) or len(isr) < len(state.isr)
            if leader != NO_NODE and hidden:
                error = int(ErrorCode.REPLICA_NOT_AVAILABLE)
        return MetadataResponsePartition(
            error_code=error,
            partition_index=index,
            leader_id=leader,
            leader_epoch=state.leader_epoch,
            replica_nodes=replicas,
            isr_nodes=isr,
            offline_replicas=offline,
        )

    def _placement(self, state: PartitionImage) -> tuple[int, int, list[int]]:
        """Error, leader and offline replicas; thousands of partitions share a few placements."""
        key = (state.leader, state.replicas, state.directories)
        known = self._placed.get(key)
        if known is None:
            image, listener = self._broker.image, self._listener
            error, leader = leader_of(
                image, state, listener, knows_listeners=self._version >= LISTENER_ERRORS_SINCE
            )
            known = int(error), leader, offline_replicas(image, state, listener)
            self._placed[key] = known
        return known
