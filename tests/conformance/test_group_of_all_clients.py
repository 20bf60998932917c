"""One group, members of every library at once: the same scripts against Apache Kafka and Barnabas.

Members are processes: they crash by kill -9.  Every line that they write down is judged while the
scripts run (`group_ledger`); the scripts are in `group_scripts`.  GROUP_SEED repeats a run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from broker_facts import create_topics
from confluent_kafka.admin import AdminClient, NewPartitions
from group_crowd import Crowd, temporary_name
from group_scripts import (
    DOOMED_SESSION_MS,
    coming_and_going,
    newer_of_two_instances_stays,
    older_of_two_instances_stays,
    only_what_moves_is_given_up,
    static_restart,
)
from harness.brokers import Broker
from harness.group_members import ALL_LIBRARIES
from harness.targets import KINDS, TARGETS

PARTITIONS = 12
SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "group.consumer.min.heartbeat.interval.ms": "500",
    "group.consumer.heartbeat.interval.ms": "500",
    "group.consumer.min.session.timeout.ms": "1000",
    "offsets.topic.num.partitions": "4",
}

MakeCrowd = Callable[..., Crowd]


@pytest.fixture(scope="module", params=TARGETS)
def quick(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Broker]:
    """A broker that notices crashes soon and begins rebalances at once."""
    broker = KINDS[request.param](tmp_path_factory.mktemp(request.param), SETTINGS)
    try:
        broker.start()
        yield broker
    finally:
        broker.discard()


@pytest.fixture
def crowd_of(quick: Broker, tmp_path: Path) -> Iterator[MakeCrowd]:
    """Make topics, and a crowd for a group that reads them; ended with the test."""
    with ExitStack() as ending:

        def make(*topics: str, **orders: object) -> Crowd:
            create_topics(quick.bootstrap, *topics, partitions=PARTITIONS)
            parts = {(topic, index) for topic in topics for index in range(PARTITIONS)}
            group = temporary_name("group")
            folder = tmp_path / group
            crowd = Crowd(folder, quick.bootstrap, group, parts, ALL_LIBRARIES, **orders)
            return ending.enter_context(crowd)

        yield make


def test_members_of_five_libraries_come_go_and_crash(crowd_of: MakeCrowd) -> None:
    crowd = crowd_of(temporary_name("five"), assignor="range")

    coming_and_going(crowd, sorted(ALL_LIBRARIES))
    crowd.finish()


def test_static_members_come_back_without_a_rebalance_and_are_fenced(crowd_of: MakeCrowd) -> None:
    crowd = crowd_of(temporary_name("static"), assignor="range")
    crowd.start("kafkajs")

    names = {
        library: static_restart(crowd, library, crash=library in ("confluent", "aiokafka"))
        for library in ("confluent", "kafka-python", "aiokafka", "java")
    }
    for library in ("confluent", "kafka-python", "java"):  # aiokafka does not know the error
        newer_of_two_instances_stays(crowd, names[library], library)
    crowd.finish()


def test_a_cooperative_group_moves_only_what_must_move(crowd_of: MakeCrowd) -> None:
    crowd = crowd_of(temporary_name("cooperative"), assignor="cooperative-sticky")
    crowd.start("java", session_ms=DOOMED_SESSION_MS)
    crowd.settle()

    only_what_moves_is_given_up(crowd, "confluent")
    only_what_moves_is_given_up(crowd, "kafka-python")
    crowd.kill("java-1")
    crowd.settle()
    only_what_moves_is_given_up(crowd, "java")
    crowd.leave("confluent-1")
    crowd.settle()
    crowd.finish()


def test_members_of_the_newer_protocol_come_go_and_crash(crowd_of: MakeCrowd) -> None:
    crowd = crowd_of(temporary_name("newer"), protocol="consumer", assignor="uniform")

    crowd.end_sessions_after(DOOMED_SESSION_MS)
    coming_and_going(crowd, ["confluent", "java"])
    crowd.finish()


def test_static_members_of_the_newer_protocol_keep_their_place(crowd_of: MakeCrowd) -> None:
    crowd = crowd_of(temporary_name("place"), protocol="consumer", assignor="uniform")
    crowd.start("confluent")

    names = [static_restart(crowd, library, crash=False) for library in ("confluent", "java")]
    older_of_two_instances_stays(crowd, names[1], "confluent")
    older_of_two_instances_stays(crowd, names[0], "java")
    crowd.finish()


def test_patterns_and_new_partitions_reach_members_of_the_newer_protocol(
    crowd_of: MakeCrowd, quick: Broker
) -> None:
    prefix = temporary_name("pattern")
    topics = [f"{prefix}-a", f"{prefix}-b"]
    crowd = crowd_of(*topics, protocol="consumer", assignor="range", topics=[f"^{prefix}-.*"])
    crowd.start("confluent")
    crowd.start("java")
    crowd.start("java", topics=topics)
    crowd.settle()

    total = PARTITIONS + 6
    admin = AdminClient({"bootstrap.servers": quick.bootstrap})
    for grown in admin.create_partitions([NewPartitions(t, total) for t in topics]).values():
        grown.result(30)
    crowd.grow((topic, index) for topic in topics for index in range(total))
    crowd.settle()
    create_topics(quick.bootstrap, f"{prefix}-c", partitions=PARTITIONS)
    crowd.grow((f"{prefix}-c", index) for index in range(PARTITIONS))
    crowd.settle()
    crowd.finish()


def test_a_group_changes_from_one_protocol_to_the_other_and_back(crowd_of: MakeCrowd) -> None:
    crowd = crowd_of(temporary_name("mixed"), session_ms=6_000)
    classic = [crowd.start("java"), crowd.start("kafka-python")]
    crowd.settle()

    newer = [crowd.start("confluent", protocol="consumer", assignor="range")]
    crowd.settle()
    newer.append(crowd.start("java", protocol="consumer", assignor="uniform"))
    crowd.leave(classic.pop())
    crowd.settle()
    crowd.start("aiokafka")
    crowd.start("kafkajs")
    crowd.settle()
    crowd.ledger.forgives_refusals = True  # the last change, back to classic, is a new start
    crowd.leave(*newer)
    crowd.settle()
    crowd.finish()
