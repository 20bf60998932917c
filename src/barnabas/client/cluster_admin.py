"""A cluster as a whole: its id, its nodes, what they answer, its features and its quorum.

All of it through our own codec, of brokers or of controllers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from barnabas.base.ids import NO_ID, id_text
from barnabas.client.brokers import (
    CONTROLLERS,
    REQUEST_TIMEOUT_S,
    OverBrokers,
    check_code,
    refusal,
)
from barnabas.client.errors import ClientError, RefusedError
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages import (
    api_versions,
    describe_cluster,
    describe_quorum,
    unregister_broker,
    update_features,
)

BROKERS = 1
METADATA_TOPIC = "__cluster_metadata"
FENCED_SINCE = 2
"""The version of DescribeCluster that tells of fenced brokers."""
ONE_CODE_SINCE = 2
"""The version of UpdateFeatures that has one error for all features."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    node_id: int
    host: str
    port: int
    rack: str | None
    is_fenced: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterView:
    cluster_id: str
    controller_id: int
    endpoints: Sequence[Endpoint]


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureLevels:
    """Levels of one feature: what the node asked supports, and what is in force."""

    name: str
    lowest: int
    highest: int
    finalized: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeVersions:
    """What a node answers to ApiVersions."""

    ranges: Mapping[int, tuple[int, int]]
    features: Sequence[FeatureLevels]
    epoch: int | None
    """Of the finalized features; None if none are told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumReplica:
    node_id: int
    directory_id: str
    log_end_offset: int
    last_fetch_ms: int | None
    last_caught_up_ms: int | None
    endpoints: Sequence[str]
    """As `LISTENER://host:port`; of voters only."""

    @property
    def has_directory(self) -> bool:
        return self.directory_id != id_text(NO_ID)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quorum:
    leader_id: int
    leader_epoch: int
    high_watermark: int
    voters: Sequence[QuorumReplica]
    observers: Sequence[QuorumReplica]


@dataclass(slots=True)
class ClusterAdmin(OverBrokers):
    """One thread; every call blocks until the node has answered, or raises `ClientError`."""

    def view(self, *, include_fenced: bool = False) -> ClusterView:
        """The nodes of the kind that is asked: brokers, or controllers."""
        connection = self.brokers.first
        version = connection.version_of(ApiKey.DESCRIBE_CLUSTER)
        if include_fenced and version is not None and version < FENCED_SINCE:
            raise ClientError(f"{connection.address} cannot tell of fenced brokers")
        answer = connection.call(
            describe_cluster.DescribeClusterRequest(
                endpoint_type=CONTROLLERS if self.brokers.of_controllers else BROKERS,
                include_fenced_brokers=include_fenced,
            ),
            describe_cluster.DescribeClusterResponse,
        )
        check_code(answer.error_code, answer.error_message)
        return ClusterView(
            cluster_id=answer.cluster_id,
            controller_id=answer.controller_id,
            endpoints=[
                Endpoint(
                    node_id=each.broker_id,
                    host=each.host,
                    port=each.port,
                    rack=each.rack,
                    is_fenced=each.is_fenced,
                )
                for each in sorted(answer.brokers, key=lambda each: each.broker_id)
            ],
        )

    def unregister(self, broker_id: int) -> None:
        answer = self.brokers.controller().call(
            unregister_broker.UnregisterBrokerRequest(broker_id=broker_id),
            unregister_broker.UnregisterBrokerResponse,
        )
        check_code(answer.error_code, answer.error_message)

    def versions(self, node_id: int | None = None) -> NodeVersions:
        """What a node answers, or whoever was reached first."""
        connection = self.brokers.first if node_id is None else self.brokers.to(node_id)
        answer = connection.call(
            api_versions.ApiVersionsRequest(
                client_software_name="barnabas", client_software_version="1"
            ),
            api_versions.ApiVersionsResponse,
        )
        check_code(answer.error_code)
        finalized = {each.name: each.max_version_level for each in answer.finalized_features}
        return NodeVersions(
            ranges={each.api_key: (each.min_version, each.max_version) for each in answer.api_keys},
            features=[
                FeatureLevels(
                    name=each.name,
                    lowest=each.min_version,
                    highest=each.max_version,
                    finalized=finalized.get(each.name, 0),
                )
                for each in sorted(answer.supported_features, key=lambda each: each.name)
            ],
            epoch=answer.finalized_features_epoch if answer.finalized_features_epoch >= 0 else None,
        )

    def update_features(
        self, levels: Mapping[str, int], *, upgrade_type: int, dry_run: bool
    ) -> dict[str, RefusedError | None]:
        """What became of each feature: None if it has the level now, or could have it."""
        connection = self.brokers.controller()
        answer = connection.call(
            update_features.UpdateFeaturesRequest(
                timeout_ms=int(REQUEST_TIMEOUT_S * 1000),
                feature_updates=[
                    update_features.FeatureUpdateKey(
                        feature=name, max_version_level=level, upgrade_type=upgrade_type
                    )
                    for name, level in levels.items()
                ],
                validate_only=dry_run,
            ),
            update_features.UpdateFeaturesResponse,
        )
        overall = refusal(answer.error_code, answer.error_message)
        version = connection.version_of(ApiKey.UPDATE_FEATURES)
        if overall is not None or (version is not None and version >= ONE_CODE_SINCE):
            return dict.fromkeys(levels, overall)
        return {
            each.feature: refusal(each.error_code, each.error_message) for each in answer.results
        }

    def quorum(self) -> Quorum:
        answer = self.brokers.controller().call(
            describe_quorum.DescribeQuorumRequest(
                topics=[
                    describe_quorum.RequestTopicData(
                        topic_name=METADATA_TOPIC,
                        partitions=[describe_quorum.RequestPartitionData(partition_index=0)],
                    )
                ]
            ),
            describe_quorum.DescribeQuorumResponse,
        )
        check_code(answer.error_code, answer.error_message)
        ((found,),) = (topic.partitions for topic in answer.topics)
        check_code(found.error_code, found.error_message)
        endpoints = {
            node.node_id: [f"{each.name}://{each.host}:{each.port}" for each in node.listeners]
            for node in answer.nodes
        }
        return Quorum(
            leader_id=found.leader_id,
            leader_epoch=found.leader_epoch,
            high_watermark=found.high_watermark,
            voters=[_replica(each, endpoints) for each in found.current_voters],
            observers=[_replica(each, endpoints) for each in found.observers],
        )


def _replica(
    told: describe_quorum.ReplicaState, endpoints: Mapping[int, Sequence[str]]
) -> QuorumReplica:
    return QuorumReplica(
        node_id=told.replica_id,
        directory_id=id_text(told.replica_directory_id),
        log_end_offset=told.log_end_offset,
        last_fetch_ms=_known(told.last_fetch_timestamp),
        last_caught_up_ms=_known(told.last_caught_up_timestamp),
        endpoints=endpoints.get(told.replica_id, ()),
    )


def _known(timestamp: int) -> int | None:
    return timestamp if timestamp >= 0 else None
