"""One group, members of three libraries at once, each in a process that can be killed.

Every line that they write down is judged while the scripts run (see `group_ledger`).  The
conformance tests do the same with the Java client and kafkajs, against Apache Kafka too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from barnabas_process import BarnabasProcess
from broker_facts import create_topics
from confluent_kafka.admin import AdminClient, NewPartitions
from group_crowd import PYTHON_LIBRARIES, Crowd
from group_scripts import (
    DOOMED_SESSION_MS,
    coming_and_going,
    newer_of_two_instances_stays,
    older_of_two_instances_stays,
    only_what_moves_is_given_up,
    static_restart,
)

PARTITIONS = 8
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

MakeCrowd = Callable[..., Crowd]


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BarnabasProcess]:
    """A broker that notices crashes soon and begins rebalances at once."""
    with BarnabasProcess(
        tmp_path_factory.mktemp("crowds"),
        "group.initial.rebalance.delay.ms=0",
        "group.min.session.timeout.ms=1000",
        "group.consumer.min.heartbeat.interval.ms=500",
        "group.consumer.heartbeat.interval.ms=500",
        "group.consumer.min.session.timeout.ms=1000",
        "offsets.topic.num.partitions=4",
    ) as process:
        yield process


@pytest.fixture
def crowd_of(quick: BarnabasProcess, tmp_path: Path) -> Iterator[MakeCrowd]:
    """A topic, and a crowd for a group that reads it; ended with the test."""
    with ExitStack() as ending:

        def make(name: str, **orders: object) -> Crowd:
            create_topics(quick.bootstrap, name, partitions=PARTITIONS)
            parts = {(name, index) for index in range(PARTITIONS)}
            crowd = Crowd(tmp_path / name, quick.bootstrap, f"{name}-group", parts, **orders)
            return ending.enter_context(crowd)

        yield make


def test_members_of_three_libraries_come_go_and_crash(
    crowd_of: MakeCrowd, topic_name: Callable[[], str]
) -> None:
    crowd = crowd_of(topic_name(), assignor="roundrobin")

    coming_and_going(crowd, sorted(PYTHON_LIBRARIES))
    crowd.finish()


def test_static_members_come_back_without_a_rebalance_and_are_fenced(
    crowd_of: MakeCrowd, topic_name: Callable[[], str]
) -> None:
    crowd = crowd_of(topic_name(), assignor="range")
    crowd.start("aiokafka")

    names = {
        library: static_restart(crowd, library, crash=library != "aiokafka")
        for library in PYTHON_LIBRARIES
    }
    for library in ("confluent", "kafka-python"):  # aiokafka does not know the error
        newer_of_two_instances_stays(crowd, names[library], library)
    crowd.finish()


def test_a_cooperative_group_moves_only_what_must_move(
    crowd_of: MakeCrowd, topic_name: Callable[[], str]
) -> None:
    crowd = crowd_of(topic_name(), assignor="cooperative-sticky")
    crowd.start("confluent")
    crowd.settle()

    only_what_moves_is_given_up(crowd, "kafka-python")
    only_what_moves_is_given_up(crowd, "confluent")
    crowd.finish()


def test_members_of_the_newer_protocol_come_go_and_crash(
    crowd_of: MakeCrowd, topic_name: Callable[[], str]
) -> None:
    crowd = crowd_of(topic_name(), protocol="consumer", assignor="uniform")
    crowd.start("confluent")

    crowd.end_sessions_after(DOOMED_SESSION_MS)
    coming_and_going(crowd, ["confluent"])
    for _ in range(3):
        crowd.start("confluent")
        crowd.settle()
    crowd.finish()


def test_static_members_of_the_newer_protocol_keep_their_place(
    crowd_of: MakeCrowd, topic_name: Callable[[], str]
) -> None:
    crowd = crowd_of(topic_name(), protocol="consumer", assignor="uniform")
    crowd.start("confluent")

    name = static_restart(crowd, "confluent", crash=False)
    older_of_two_instances_stays(crowd, name, "confluent")
    crowd.finish()


def test_new_partitions_reach_members_of_the_newer_protocol(
    crowd_of: MakeCrowd, quick: BarnabasProcess, topic_name: Callable[[], str]
) -> None:
    topic, total = topic_name(), PARTITIONS + 4
    crowd = crowd_of(topic, protocol="consumer", assignor="range")
    crowd.start("confluent", topics=[f"^{topic}$"])
    crowd.start("confluent")
    crowd.settle()

    admin = AdminClient({"bootstrap.servers": quick.bootstrap})
    admin.create_partitions([NewPartitions(topic, total)])[topic].result(30)
    crowd.grow((topic, index) for index in range(total))
    crowd.settle()
    crowd.finish()


def test_a_group_changes_from_one_protocol_to_the_other_and_back(
    crowd_of: MakeCrowd, topic_name: Callable[[], str]
) -> None:
    crowd = crowd_of(topic_name(), session_ms=6_000)
    classic = [crowd.start("kafka-python"), crowd.start("aiokafka")]
    crowd.settle()

    newer = crowd.start("confluent", protocol="consumer")
    crowd.settle()
    crowd.leave(classic.pop())
    crowd.settle()
    crowd.ledger.forgives_refusals = True  # the change back to classic is a new start
    crowd.leave(newer)
    crowd.settle()
    crowd.finish()
