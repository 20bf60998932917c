"""Messages here were recorded from Apache Kafka 4.0."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.base.errors import StorageFailed
from barnabas.controller import decider
from barnabas.controller.bootstrap import initial_records
from barnabas.controller.decider.decision import Decision
from barnabas.protocol.messages.metadata_records import (
    ConfigRecord,
    FeatureLevelRecord,
    PartitionChangeRecord,
    RegisterBrokerRecord,
)
from barnabas.protocol.messages.update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

UPGRADE, SAFE, UNSAFE = 1, 2, 3
ALL = "The update failed for all features since the following feature had an error: "


def request(*updates: tuple[str, int, int], validate_only: bool = False) -> UpdateFeaturesRequest:
    return UpdateFeaturesRequest(
        feature_updates=[
            FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=kind)
            for name, level, kind in updates
        ],
        validate_only=validate_only,
    )


def done(*names: str) -> UpdateFeaturesResponse:
    results = [UpdatableFeatureResult(feature=name, error_message="NONE") for name in names]
    return UpdateFeaturesResponse(error_message=None, results=results)


@pytest.fixture
def cluster(single: Any) -> Any:
    single.replay(*initial_records())
    return single


def test_levels_go_down_and_up(cluster: Any) -> None:
    down = cluster.decide(request(("group.version", 0, SAFE), ("transaction.version", 1, UNSAFE)))
    assert down == Decision(
        records=(
            FeatureLevelRecord(name="group.version", feature_level=0),
            FeatureLevelRecord(name="transaction.version", feature_level=1),
        ),
        response=done("group.version", "transaction.version"),
    )
    cluster.replay(*down.records)
    assert cluster.do(request(("group.version", 1, UPGRADE))).error_code == 0
    assert cluster.image.features["group.version"] == 1


def test_the_level_that_is_already_set_makes_no_record(cluster: Any) -> None:
    assert cluster.decide(request(("group.version", 1, UPGRADE))) == Decision(
        response=done("group.version")
    )


def test_checking_only_changes_nothing(cluster: Any) -> None:
    decision = cluster.decide(request(("group.version", 0, SAFE), validate_only=True))

    assert decision == Decision(response=done("group.version"))


@pytest.mark.parametrize(
    ("update", "reason"),
    [
        (
            ("nope", 1, UPGRADE),
            (
                "Invalid update version 1 for feature nope. Local controller 1 does not support "
                "this feature."
            ),
        ),
        (
            ("group.version", 9, UPGRADE),
            (
                "Invalid update version 9 for feature group.version. Local controller 1 only "
                "supports versions 0-1"
            ),
        ),
        (
            ("group.version", -1, UPGRADE),
            (
                "Invalid update version -1 for feature group.version. A feature version cannot be "
                "less than 0."
            ),
        ),
        (
            ("group.version", 0, UPGRADE),
            (
                "Invalid update version 0 for feature group.version. Can't downgrade the version "
                "of this feature without setting the upgrade type to either safe or unsafe "
                "downgrade."
            ),
        ),
        (
            ("group.version", 0, 0),
            (
                "Invalid update version 0 for feature group.version. The controller does not "
                "support the given upgrade type."
            ),
        ),
        (
            ("metadata.version", 0, UNSAFE),
            (
                "Invalid update version 0 for feature metadata.version. Local controller 1 only "
                "supports versions 7-25"
            ),
        ),
        (
            ("metadata.version", 17, SAFE),
            (
                "Invalid metadata.version 17. Refusing to perform the requested downgrade because "
                "it might delete metadata information."
            ),
        ),
        (
            ("metadata.version", 17, UNSAFE),
            (
                "Invalid metadata.version 17. Unsafe metadata downgrade is not supported in this "
                "version."
            ),
        ),
    ],
    ids=lambda value: str(value)[:30],
)
def test_one_bad_update_stops_all_of_them(
    cluster: Any, update: tuple[str, int, int], reason: str
) -> None:
    decision = cluster.decide(request(("transaction.version", 1, SAFE), update))

    assert decision == Decision(
        response=UpdateFeaturesResponse(error_code=95, error_message=ALL + reason)
    )


def test_a_metadata_version_with_the_same_records_can_be_gone_back_to(cluster: Any) -> None:
    assert cluster.do(request(("metadata.version", 24, SAFE))).error_code == 0
    assert cluster.image.features["metadata.version"] == 24


def test_the_oldest_request_says_only_that_it_may_go_down(cluster: Any) -> None:
    asked = request(("group.version", 0, UPGRADE))
    asked.feature_updates[0].allow_downgrade = True

    assert cluster.do(asked).error_code == 0


def test_every_broker_must_support_a_level(cluster: Any) -> None:
    cluster.do(request(("group.version", 0, SAFE)))
    cluster.replay(RegisterBrokerRecord(broker_id=2, broker_epoch=cluster.image.applied_offset + 1))

    decision = cluster.decide(request(("group.version", 1, UPGRADE)))

    assert decision.response.error_message == (
        f"{ALL}Invalid update version 1 for feature group.version. Broker 2 does not support this "
        "feature."
    )
    assert cluster.decide(request(("group.version", 0, UPGRADE))).response.error_code == 0


def test_nothing_could_be_done_is_said_by_its_code() -> None:
    response = decider.refuse(request(("f", 1, 1)), StorageFailed("full"))

    assert response == UpdateFeaturesResponse(error_code=56, error_message="full")


# Eligible leaders

ELR = "eligible.leader.replicas.version"


def min_isr(resource: str, value: str | None) -> ConfigRecord:
    return ConfigRecord(
        resource_type=4, resource_name=resource, name="min.insync.replicas", value=value
    )


def test_with_eligible_leaders_the_minimum_isr_is_one_for_the_cluster(cluster: Any) -> None:
    cluster.replay(min_isr("1", "2"))

    assert cluster.decide(request((ELR, 1, UPGRADE))).records == (
        FeatureLevelRecord(name=ELR, feature_level=1),
        min_isr("", "2"),
        min_isr("1", None),
    )
    cluster.replay(min_isr("", "3"), min_isr("1", None))
    assert cluster.decide(request((ELR, 1, UPGRADE))).records == (
        FeatureLevelRecord(name=ELR, feature_level=1),
    )


def test_eligible_leaders_need_records_that_can_tell_them(cluster: Any) -> None:
    cluster.replay(FeatureLevelRecord(name="metadata.version", feature_level=22))

    message = cluster.do(request((ELR, 1, UPGRADE))).error_message
    assert message.endswith("It needs metadata.version 23.")


def test_without_eligible_leaders_nobody_is_eligible(cluster: Any) -> None:
    t = cluster.add_topic("t", [1])
    cluster.do(request((ELR, 1, UPGRADE)))
    cluster.replay(
        PartitionChangeRecord(partition_id=0, topic_id=t, isr=[], leader=-1, last_known_elr=[1])
    )
    message = cluster.do(request((ELR, 0, SAFE))).error_message
    assert message.endswith("There are partitions that nobody is in sync with.")

    cluster.replay(
        PartitionChangeRecord(partition_id=0, topic_id=t, isr=[1], eligible_leader_replicas=[])
    )
    assert cluster.do(request((ELR, 0, SAFE))).error_code == 0
    partition = cluster.image.partition("t", 0)
    assert (partition.isr, partition.leader, partition.last_known_elr) == ((1,), 1, ())
