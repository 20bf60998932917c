"""Requests that the controller decides: topics, partitions, elections, moves, features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from barnabas.base.errors import ErrorCode
from barnabas.broker.handlers.k19_create_topics import create_topics
from barnabas.broker.handlers.k20_delete_topics import delete_topics
from barnabas.broker.handlers.k33_alter_configs import alter_configs
from barnabas.broker.handlers.k37_create_partitions import create_partitions
from barnabas.broker.handlers.k43_elect_leaders import elect_leaders
from barnabas.broker.handlers.k45_alter_partition_reassignments import (
    alter_partition_reassignments,
)
from barnabas.broker.handlers.k46_list_partition_reassignments import (
    list_partition_reassignments,
)
from barnabas.broker.handlers.k57_update_features import update_features
from barnabas.broker.handlers.k64_unregister_broker import unregister_broker
from barnabas.protocol.messages.alter_configs import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
)
from barnabas.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from barnabas.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)
from barnabas.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from barnabas.protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from barnabas.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    TopicPartitions,
)
from barnabas.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from barnabas.protocol.messages.unregister_broker import (
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)
from barnabas.protocol.messages.update_features import (
    FeatureUpdateKey,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)


@dataclass(frozen=True, kw_only=True)
class Case:
    """A request about two things, which the controller answers."""

    handler: Callable[..., Any]
    version: int
    request: Any
    response: Any
    codes: Callable[[Any], list[int]]
    """The error codes that an answer has."""

    def with_timeout(self, timeout_ms: int) -> Any:
        request = type(self.request).decode(self.request.encode(self.version), self.version)
        request.timeout_ms = timeout_ms
        return request

    def __str__(self) -> str:
        return f"{self.handler.__name__} v{self.version}"


CASES = [
    Case(
        handler=create_topics,
        version=7,
        request=CreateTopicsRequest(topics=[CreatableTopic(name="a"), CreatableTopic(name="b")]),
        response=CreateTopicsResponse(topics=[CreatableTopicResult(name="a")]),
        codes=lambda answer: [topic.error_code for topic in answer.topics],
    ),
    Case(
        handler=delete_topics,
        version=6,
        request=DeleteTopicsRequest(
            topics=[DeleteTopicState(name="a"), DeleteTopicState(topic_id=b"s" * 16)]
        ),
        response=DeleteTopicsResponse(responses=[DeletableTopicResult(name="a")]),
        codes=lambda answer: [topic.error_code for topic in answer.responses],
    ),
    Case(
        handler=delete_topics,
        version=5,
        request=DeleteTopicsRequest(topic_names=["a", "b"]),
        response=DeleteTopicsResponse(responses=[DeletableTopicResult(name="a")]),
        codes=lambda answer: [topic.error_code for topic in answer.responses],
    ),
    Case(
        handler=create_partitions,
        version=3,
        request=CreatePartitionsRequest(
            topics=[CreatePartitionsTopic(name="a"), CreatePartitionsTopic(name="b")]
        ),
        response=CreatePartitionsResponse(results=[CreatePartitionsTopicResult(name="a")]),
        codes=lambda answer: [topic.error_code for topic in answer.results],
    ),
    Case(
        handler=update_features,
        version=2,
        request=UpdateFeaturesRequest(feature_updates=[FeatureUpdateKey(feature="f")]),
        response=UpdateFeaturesResponse(error_message=None),
        codes=lambda answer: [answer.error_code] * 2,
    ),
    *(
        Case(
            handler=elect_leaders,
            version=version,
            request=ElectLeadersRequest(
                topic_partitions=[TopicPartitions(topic="a", partitions=[0, 1])]
            ),
            response=ElectLeadersResponse(),
            codes=lambda answer: [
                partition.error_code
                for topic in answer.replica_election_results
                for partition in topic.partition_result
            ],
        )
        for version in (0, 1, 2)
    ),
    Case(
        handler=alter_partition_reassignments,
        version=0,
        request=AlterPartitionReassignmentsRequest(
            topics=[
                ReassignableTopic(
                    name="a",
                    partitions=[ReassignablePartition(), ReassignablePartition(partition_index=1)],
                )
            ]
        ),
        response=AlterPartitionReassignmentsResponse(error_message=None),
        codes=lambda answer: [
            partition.error_code for topic in answer.responses for partition in topic.partitions
        ],
    ),
    Case(
        handler=list_partition_reassignments,
        version=0,
        request=ListPartitionReassignmentsRequest(),
        response=ListPartitionReassignmentsResponse(error_message=None),
        codes=lambda answer: [answer.error_code] * 2,
    ),
]
each_case = pytest.mark.parametrize("case", CASES, ids=str)


@each_case
def test_the_controllers_answer_is_the_answer(world: Any, case: Case) -> None:
    request = case.with_timeout(60_000)

    answered = world.begin(case.handler, request, case.version)

    assert (world.controller.submitted, answered) == ([request], [])
    world.controller.answer(case.response)
    assert answered == [case.response]
    assert len(world.broker.replicas.produces) == 0


@each_case
@pytest.mark.parametrize("timeout_ms", [0, -1])
def test_a_client_without_patience_is_refused_and_nothing_happens(
    world: Any, case: Case, timeout_ms: int
) -> None:
    answer = world.call(case.handler, case.with_timeout(timeout_ms), case.version)

    assert case.codes(answer) == [ErrorCode.REQUEST_TIMED_OUT] * 2
    assert world.controller.submitted == []


@each_case
def test_after_the_timeout_the_client_is_told_so_and_a_late_answer_is_dropped(
    world: Any, case: Case
) -> None:
    answered = world.begin(case.handler, case.with_timeout(2_000), case.version)

    world.broker.replicas.expire(world.clock.monotonic() + 1.9)
    assert answered == []
    world.broker.replicas.expire(world.clock.monotonic() + 2.0)
    (answer,) = answered
    assert case.codes(answer) == [ErrorCode.REQUEST_TIMED_OUT] * 2
    assert type(answer).decode(answer.encode(case.version), case.version) == answer
    world.controller.answer(case.response)
    assert len(answered) == 1


@each_case
def test_a_client_that_has_gone_is_forgotten(world: Any, case: Case) -> None:
    request = case.with_timeout(2_000)
    later = case.handler(world.broker, world.ctx(request, case.version), request)
    later.when_done(lambda _: None)

    later.abandon()

    assert len(world.broker.replicas.produces) == 0
    world.controller.answer(case.response)


def test_a_topic_from_creation_to_deletion(world: Any) -> None:
    world.decide_for_real()
    create = CreateTopicsRequest(
        topics=[CreatableTopic(name="t", num_partitions=2, replication_factor=1)]
    )
    grow = CreatePartitionsRequest(
        topics=[CreatePartitionsTopic(name="t", count=3, assignments=None)], timeout_ms=1_000
    )

    created = world.call(create_topics, create, 7).topics[0]
    assert (created.error_code, created.num_partitions) == (ErrorCode.NONE, 2)
    assert created.topic_id == world.image.topics["t"].id
    assert world.call(create_partitions, grow, 3).results[0].error_code == ErrorCode.NONE
    world.produce("t", 1, index=2)
    delete = DeleteTopicsRequest(topic_names=["t", "u"], timeout_ms=1_000)
    assert [r.error_code for r in world.call(delete_topics, delete, 1).responses] == [
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    assert world.broker.replicas.all() == []


@pytest.mark.parametrize(
    ("version", "error"),
    [
        (1, ErrorCode.INVALID_REQUEST),
        (2, ErrorCode.INVALID_REQUEST),
        (3, ErrorCode.TOPIC_DELETION_DISABLED),
        (6, ErrorCode.TOPIC_DELETION_DISABLED),
    ],
)
def test_deletion_can_be_switched_off(make_world: Any, version: int, error: ErrorCode) -> None:
    world = make_world(**{"delete.topic.enable": "false"})
    world.topic("t")
    world.decide_for_real()
    by_name = version < 6
    request = DeleteTopicsRequest(
        topic_names=["t"] if by_name else [],
        topics=[] if by_name else [DeleteTopicState(name="t")],
        timeout_ms=1_000,
    )

    assert [r.error_code for r in world.call(delete_topics, request, version).responses] == [error]
    assert "t" in world.image.topics


def test_alter_configs_replaces_all_settings(world: Any) -> None:
    world.decide_for_real()
    world.topic("t", retention_ms="5", segment_bytes="2000000")
    request = AlterConfigsRequest(
        resources=[
            AlterConfigsResource(
                resource_type=2,
                resource_name="t",
                configs=[AlterableConfig(name="retention.ms", value="7")],
            )
        ]
    )

    assert world.call(alter_configs, request, 2).responses[0].error_code == ErrorCode.NONE
    assert world.image.topic_config("t") == {"retention.ms": "7"}


def test_a_broker_is_unregistered_however_long_that_takes(world: Any) -> None:
    answered = world.begin(unregister_broker, UnregisterBrokerRequest(broker_id=7), 0)

    assert world.controller.submitted == [UnregisterBrokerRequest(broker_id=7)]
    world.controller.answer(UnregisterBrokerResponse(error_message=None))
    assert answered == [UnregisterBrokerResponse(error_message=None)]


def test_what_only_old_versions_can_say_is_passed_on_as_new_ones_say_it(world: Any) -> None:
    """The controller may be elsewhere, and is told in the newest version."""
    world.begin(delete_topics, DeleteTopicsRequest(topic_names=["a", "b"], timeout_ms=9), 5)
    update = FeatureUpdateKey(feature="f", allow_downgrade=True)
    answered = world.begin(update_features, UpdateFeaturesRequest(feature_updates=[update]), 0)

    for request in world.controller.submitted:
        newest = type(request).max_version
        assert type(request).decode(request.encode(newest), newest) == request
    deletion, downgrade = world.controller.submitted
    assert [topic.name for topic in deletion.topics] == ["a", "b"]
    assert downgrade.feature_updates == [FeatureUpdateKey(feature="f", upgrade_type=2)]
    world.controller.answer(DeleteTopicsResponse())
    world.controller.answer(UpdateFeaturesResponse(error_message=None))
    assert [(one.feature, one.error_code) for one in answered[0].results] == [("f", 0)]
