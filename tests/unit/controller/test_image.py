from __future__ import annotations

from typing import Any

import pytest

from barnabas.controller.image import (
    BrokerImage,
    ClusterImage,
    Endpoint,
    ImageChanges,
    PartitionImage,
    TopicImage,
    VersionRange,
)
from barnabas.controller.image_replay import _REPLAY
from barnabas.controller.image_types import UNASSIGNED_DIRECTORY, UNKNOWN_DIRECTORY
from barnabas.protocol.message import Message
from barnabas.protocol.messages import metadata_records as mr

A, B = b"a" * 16, b"b" * 16
DIR_1, DIR_2, DIR_3 = b"1" * 16, b"2" * 16, b"3" * 16


@pytest.fixture
def image() -> ClusterImage:
    return ClusterImage("c")


def run(image: ClusterImage, *records: Message) -> ImageChanges:
    return image.replay_run(records, offset=image.applied_offset + len(records), epoch=1)


def partition(index: int = 0, topic_id: bytes = A, **fields: Any) -> mr.PartitionRecord:
    values: dict[str, Any] = {
        "replicas": [1, 2],
        "isr": [1, 2],
        "leader": 1,
        "leader_epoch": 0,
        "partition_epoch": 0,
        "directories": [DIR_1, DIR_2],
    }
    return mr.PartitionRecord(partition_id=index, topic_id=topic_id, **(values | fields))


def broker(broker_id: int = 1, epoch: int = 5, **fields: Any) -> mr.RegisterBrokerRecord:
    values: dict[str, Any] = {"incarnation_id": b"i" * 16, "rack": None, "fenced": True}
    return mr.RegisterBrokerRecord(broker_id=broker_id, broker_epoch=epoch, **(values | fields))


FIRST = PartitionImage(
    replicas=(1, 2),
    isr=(1, 2),
    leader=1,
    leader_epoch=0,
    partition_epoch=0,
    directories=(DIR_1, DIR_2),
)


def test_every_kind_of_record_can_be_replayed() -> None:
    of_transactions = {
        mr.BeginTransactionRecord,
        mr.EndTransactionRecord,
        mr.AbortTransactionRecord,
    }

    assert set(_REPLAY) == set(mr.METADATA_RECORDS.values()) - of_transactions


def test_a_topic_is_found_by_name_and_by_id(image: ClusterImage) -> None:
    changes = run(image, mr.TopicRecord(name="t", topic_id=A), partition())

    topic = TopicImage(name="t", id=A, partitions=[FIRST])
    assert image.topics == {"t": topic}
    assert image.topics_by_id == {A: topic}
    assert image.partition("t", 0) == FIRST
    assert image.partition("t", 1) is None
    assert image.partition("t", -1) is None
    assert image.partition("u", 0) is None
    assert changes == ImageChanges(topics_created={A: topic}, partitions={(A, 0): None})


def test_partitions_written_before_directories_had_ids_are_told_apart(image: ClusterImage) -> None:
    run(image, mr.TopicRecord(name="t", topic_id=A), partition(directories=[]))

    assert image.topics["t"].partitions[0].directories == (UNKNOWN_DIRECTORY, UNKNOWN_DIRECTORY)


def test_an_election_raises_both_epochs_and_another_change_only_one(image: ClusterImage) -> None:
    run(image, mr.TopicRecord(name="t", topic_id=A), partition())

    changes = run(
        image,
        mr.PartitionChangeRecord(partition_id=0, topic_id=A, isr=[2], leader=2),
        mr.PartitionChangeRecord(partition_id=0, topic_id=A, isr=[2, 1]),
    )

    now = image.topics["t"].partitions[0]
    assert (now.leader, now.leader_epoch, now.partition_epoch) == (2, 1, 2)
    assert now.isr == (2, 1)
    assert changes == ImageChanges(partitions={(A, 0): FIRST})


def test_naming_the_same_leader_again_is_an_election_too(image: ClusterImage) -> None:
    run(image, mr.TopicRecord(name="t", topic_id=A), partition())

    run(image, mr.PartitionChangeRecord(partition_id=0, topic_id=A, leader=1))

    assert image.topics["t"].partitions[0].leader_epoch == 1


def test_new_replicas_keep_the_directories_of_the_old_ones(image: ClusterImage) -> None:
    run(image, mr.TopicRecord(name="t", topic_id=A), partition())

    run(
        image,
        mr.PartitionChangeRecord(
            partition_id=0, topic_id=A, replicas=[2, 3, 1], adding_replicas=[3]
        ),
    )

    now = image.topics["t"].partitions[0]
    assert now.directories == (DIR_2, UNASSIGNED_DIRECTORY, DIR_1)
    assert now.adding == (3,)


def test_every_field_of_a_partition_change_counts(image: ClusterImage) -> None:
    run(image, mr.TopicRecord(name="t", topic_id=A), partition(replicas=[1, 2], isr=[1]))

    run(
        image,
        mr.PartitionChangeRecord(
            partition_id=0,
            topic_id=A,
            isr=[1],
            replicas=[1, 3],
            removing_replicas=[3],
            adding_replicas=[1],
            leader_recovery_state=1,
            directories=[DIR_1, DIR_3],
            eligible_leader_replicas=[3],
            last_known_elr=[1],
        ),
    )

    assert image.topics["t"].partitions[0] == PartitionImage(
        replicas=(1, 3),
        isr=(1,),
        leader=1,
        leader_epoch=0,
        partition_epoch=1,
        directories=(DIR_1, DIR_3),
        adding=(1,),
        removing=(3,),
        elr=(3,),
        last_known_elr=(1,),
        recovering=True,
    )


@pytest.mark.parametrize("name", ["t", ""])
def test_eligible_leaders_are_cleared_in_one_topic_or_in_all(
    image: ClusterImage, name: str
) -> None:
    run(
        image,
        mr.TopicRecord(name="t", topic_id=A),
        partition(isr=[1], eligible_leader_replicas=[2], last_known_elr=[1]),
    )

    changes = run(image, mr.ClearElrRecord(topic_name=name))

    assert image.topics["t"].partitions[0].elr == ()
    assert image.topics["t"].partitions[0].last_known_elr == ()
    assert list(changes.partitions) == [(A, 0)]


def test_a_deleted_topic_takes_its_settings_with_it(image: ClusterImage) -> None:
    run(
        image,
        mr.TopicRecord(name="t", topic_id=A),
        mr.ConfigRecord(resource_type=2, resource_name="t", name="retention.ms", value="1"),
        partition(),
    )

    changes = run(image, mr.RemoveTopicRecord(topic_id=A))

    assert (image.topics, image.topics_by_id, image.configs) == ({}, {}, {})
    assert changes == ImageChanges(
        topics_deleted={A: TopicImage(name="t", id=A, partitions=[FIRST])}, configs={(2, "t")}
    )


def test_a_topic_made_and_deleted_in_one_run_is_not_a_change(image: ClusterImage) -> None:
    changes = run(
        image,
        mr.TopicRecord(name="t", topic_id=A),
        partition(),
        mr.RemoveTopicRecord(topic_id=A),
    )

    assert not changes


def test_a_deleted_topic_is_reported_as_it_was_before_the_run(image: ClusterImage) -> None:
    run(image, mr.TopicRecord(name="t", topic_id=A), partition())

    changes = run(
        image,
        mr.PartitionChangeRecord(partition_id=0, topic_id=A, isr=[1]),
        partition(1),
        mr.RemoveTopicRecord(topic_id=A),
        mr.TopicRecord(name="t", topic_id=B),
    )

    assert changes.topics_deleted[A].partitions == [FIRST]
    assert list(changes.topics_created) == [B]
    assert changes.partitions == {}


@pytest.mark.parametrize(
    "record",
    [
        mr.TopicRecord(name="t", topic_id=B),
        mr.TopicRecord(name="u", topic_id=A),
        mr.RemoveTopicRecord(topic_id=B),
        partition(topic_id=B),
        partition(2),
        partition(1, replicas=[]),
        partition(1, replicas=[1, 1], directories=[DIR_1, DIR_1]),
        partition(1, isr=[3]),
        partition(1, isr=[2], leader=1),
        partition(1, directories=[DIR_1]),
        mr.PartitionChangeRecord(partition_id=1, topic_id=A),
        mr.PartitionChangeRecord(partition_id=0, topic_id=A, leader=7),
        broker(epoch=4),
        mr.FenceBrokerRecord(id=1, epoch=4),
        mr.UnfenceBrokerRecord(id=2, epoch=5),
        mr.UnregisterBrokerRecord(broker_id=1, broker_epoch=9),
        mr.BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=6, fenced=1),
        mr.ProducerIdsRecord(next_producer_id=1000),
        mr.FeatureLevelRecord(name="f", feature_level=-1),
        mr.ClearElrRecord(topic_name="nope"),
    ],
    ids=repr,
)
def test_a_record_that_cannot_follow_is_refused(image: ClusterImage, record: Message) -> None:
    run(
        image,
        mr.TopicRecord(name="t", topic_id=A),
        partition(),
        broker(),
        mr.ProducerIdsRecord(next_producer_id=1000),
    )

    with pytest.raises(AssertionError):
        image.replay(record)


def test_a_run_must_come_after_what_was_applied(image: ClusterImage) -> None:
    image.replay_run([mr.NoOpRecord()], offset=5, epoch=3)

    with pytest.raises(AssertionError):
        image.replay_run([mr.NoOpRecord()], offset=5, epoch=3)
    with pytest.raises(AssertionError):
        image.replay_run([mr.NoOpRecord()], offset=6, epoch=2)
    assert (image.applied_offset, image.applied_epoch) == (5, 3)


def test_a_broker_is_what_it_registered_as(image: ClusterImage) -> None:
    changes = run(
        image,
        broker(
            end_points=[
                mr.BrokerEndpoint(name="IN", host="h", port=65535, security_protocol=3),
                mr.BrokerEndpoint(name="OUT", host="x", port=1, security_protocol=0),
            ],
            features=[mr.BrokerFeature(name="f", min_supported_version=1, max_supported_version=2)],
            rack="r",
            log_dirs=[DIR_1, DIR_2],
        ),
    )

    found = image.brokers[1]
    assert found == BrokerImage(
        id=1,
        epoch=5,
        incarnation_id=b"i" * 16,
        endpoints=(Endpoint("IN", "h", 65535, 3), Endpoint("OUT", "x", 1, 0)),
        features={"f": VersionRange(1, 2)},
        rack="r",
        fenced=True,
        in_controlled_shutdown=False,
        log_dirs=(DIR_1, DIR_2),
    )
    assert found.endpoint("OUT") == Endpoint("OUT", "x", 1, 0)
    assert found.endpoint("NONE") is None
    assert changes == ImageChanges(brokers={1: None})


def test_a_broker_is_fenced_unfenced_and_leaves(image: ClusterImage) -> None:
    def change(**fields: Any) -> None:
        run(image, mr.BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=5, **fields))

    run(image, broker())
    change(fenced=-1)
    assert image.brokers[1].is_active
    assert [b.id for b in image.active_brokers()] == [1]
    change(in_controlled_shutdown=1)
    assert not image.brokers[1].is_active
    assert not image.brokers[1].fenced
    change(fenced=1)
    assert image.brokers[1].fenced
    change(log_dirs=[DIR_3])
    assert image.brokers[1].log_dirs == (DIR_3,)
    run(image, mr.UnfenceBrokerRecord(id=1, epoch=5))
    assert not image.brokers[1].fenced
    run(image, mr.FenceBrokerRecord(id=1, epoch=5))
    assert image.brokers[1].fenced
    before = image.brokers[1]
    changes = run(image, mr.UnregisterBrokerRecord(broker_id=1, broker_epoch=5))
    assert image.brokers == {}
    assert changes == ImageChanges(brokers={1: before})


@pytest.mark.parametrize(
    ("log_dirs", "expected"),
    [([], UNKNOWN_DIRECTORY), ([DIR_1], DIR_1), ([DIR_1, DIR_2], UNASSIGNED_DIRECTORY)],
)
def test_new_replicas_go_to_a_brokers_only_directory(
    image: ClusterImage, log_dirs: list[bytes], expected: bytes
) -> None:
    run(image, broker(log_dirs=log_dirs))

    assert image.brokers[1].default_directory() == expected


def test_settings_are_set_changed_and_removed(image: ClusterImage) -> None:
    def config(name: str, value: str | None) -> mr.ConfigRecord:
        return mr.ConfigRecord(resource_type=4, resource_name="", name=name, value=value)

    changes = run(image, config("a", "1"), config("b", "2"))
    before = image.config(4, "")
    run(image, config("a", None), config("b", "3"))

    assert changes == ImageChanges(configs={(4, "")})
    assert before == {"a": "1", "b": "2"}
    assert image.config(4, "") == {"b": "3"}
    run(image, config("b", None))
    assert image.configs == {}
    assert image.config(4, "") == {}


def test_a_feature_at_level_0_is_off(image: ClusterImage) -> None:
    run(image, mr.FeatureLevelRecord(name="f", feature_level=2))
    changes = run(image, mr.FeatureLevelRecord(name="f", feature_level=0))

    assert image.features == {}
    assert changes == ImageChanges(features={"f": 2})


def test_what_is_only_kept_survives_until_it_is_removed(image: ClusterImage) -> None:
    kept: list[Message] = [
        mr.AccessControlEntryRecord(id=A, resource_name="t"),
        mr.DelegationTokenRecord(token_id="x"),
        mr.RegisterControllerRecord(controller_id=1),
    ]
    run(image, *kept)
    assert image.dump() == kept
    run(
        image,
        mr.RemoveAccessControlEntryRecord(id=A),
        mr.RemoveDelegationTokenRecord(token_id="x"),
    )
    assert image.dump() == [mr.RegisterControllerRecord(controller_id=1)]


def quota(key: str, value: float | None, **entity: str | None) -> mr.ClientQuotaRecord:
    return mr.ClientQuotaRecord(
        entity=[mr.EntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()],
        key=key,
        value=value or 0.0,
        remove=value is None,
    )


def test_quotas_are_set_and_removed_one_by_one(image: ClusterImage) -> None:
    changes = run(image, quota("a", 1.5, user="u", client=None), quota("b", 2.0, user="u"))
    before = image.quotas[("user", "u"),]
    run(image, quota("a", 3.0, user="u"))

    assert changes == ImageChanges(quotas=True)
    assert before == {"b": 2.0}
    assert image.quotas == {
        (("client", None), ("user", "u")): {"a": 1.5},
        (("user", "u"),): {"b": 2.0, "a": 3.0},
    }
    run(image, quota("a", None, client=None, user="u"), quota("b", None, user="u"))
    assert image.quotas == {(("user", "u"),): {"a": 3.0}}
    run(image, quota("a", None, user="u"), quota("never set", None, user="v"))
    assert image.quotas == {}


def test_a_quota_for_the_default_user_is_not_one_for_a_user_without_name(
    image: ClusterImage,
) -> None:
    run(image, quota("k", 1.0, user=None), quota("k", 2.0, user=""))

    assert image.quotas == {(("user", None),): {"k": 1.0}, (("user", ""),): {"k": 2.0}}


def test_credentials_are_replaced_and_removed_by_user_and_mechanism(image: ClusterImage) -> None:
    first = mr.UserScramCredentialRecord(name="u", mechanism=1, iterations=4096)
    other = mr.UserScramCredentialRecord(name="u", mechanism=2, iterations=4096)
    newer = mr.UserScramCredentialRecord(name="u", mechanism=1, iterations=8192)
    run(image, first, other, newer)
    assert image.scram == {("u", 1): newer, ("u", 2): other}
    run(image, mr.RemoveUserScramCredentialRecord(name="u", mechanism=2))
    assert image.scram == {("u", 1): newer}


def test_quotas_and_credentials_are_in_dumps_and_forks(image: ClusterImage) -> None:
    records: list[Message] = [
        quota("k", 1.0, client=None, user="u"),
        quota("k", 2.0, ip="::1"),
        mr.UserScramCredentialRecord(name="u", mechanism=1, salt=b"s", iterations=4096),
    ]
    run(image, *records)
    fork = image.fork()
    run(fork, quota("k", None, ip="::1"), mr.RemoveUserScramCredentialRecord(name="u", mechanism=1))

    assert image.dump() == records
    assert fork.dump() == records[:1]
    assert image.as_changes().quotas


def test_a_fork_starts_equal_and_goes_its_own_way(image: ClusterImage) -> None:
    run(
        image,
        mr.TopicRecord(name="t.x", topic_id=A),
        partition(),
        broker(),
        mr.ConfigRecord(resource_type=2, resource_name="t.x", name="a", value="1"),
    )
    before = image.dump()

    fork = image.fork()
    assert fork == image
    run(
        fork,
        mr.PartitionChangeRecord(partition_id=0, topic_id=A, isr=[1]),
        partition(1),
        mr.TopicRecord(name="u", topic_id=B),
        partition(topic_id=B),
        mr.ConfigRecord(resource_type=2, resource_name="t.x", name="a", value="2"),
        mr.FenceBrokerRecord(id=1, epoch=5),
        mr.FeatureLevelRecord(name="f", feature_level=1),
        mr.ProducerIdsRecord(next_producer_id=10),
    )
    run(fork, mr.RemoveTopicRecord(topic_id=A))

    assert image.dump() == before
    assert image.similar_names("t_x") == ("t.x",)
    assert fork.similar_names("t_x") == ()
    assert list(fork.topics) == ["u"]


def test_a_frozen_copy_stays_as_it_is(image: ClusterImage) -> None:
    run(image, mr.TopicRecord(name="t", topic_id=A), partition(), broker())
    copy = image.frozen()
    before = copy.dump()
    assert copy == image
    run(
        image,
        mr.PartitionChangeRecord(partition_id=0, topic_id=A, isr=[1]),
        partition(1),
        mr.TopicRecord(name="u", topic_id=B),
        mr.FenceBrokerRecord(id=1, epoch=5),
    )
    assert copy.dump() == before
    assert copy != image


def test_everything_at_once_looks_like_changes(image: ClusterImage) -> None:
    changes = run(
        image,
        mr.FeatureLevelRecord(name="f", feature_level=1),
        broker(),
        mr.TopicRecord(name="t", topic_id=A),
        partition(),
        mr.ConfigRecord(resource_type=2, resource_name="t", name="a", value="1"),
        mr.ProducerIdsRecord(next_producer_id=10),
    )

    assert image.as_changes() == changes
    assert image.partition_count == 1


def test_a_snapshot_starts_a_new_image_only(image: ClusterImage) -> None:
    image.load_snapshot([mr.FeatureLevelRecord(name="f", feature_level=1)], end_offset=10, epoch=2)
    assert (image.applied_offset, image.applied_epoch) == (9, 2)
    with pytest.raises(AssertionError):
        image.load_snapshot([], end_offset=20, epoch=2)


def test_images_differ_from_other_things_and_by_content(image: ClusterImage) -> None:
    other = ClusterImage("c")
    assert image == other
    run(other, mr.FeatureLevelRecord(name="f", feature_level=1))
    assert image != other
    assert image != 5
