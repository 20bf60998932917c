"""Groups and transactions are after a restart what they were before it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from barnabas_process import BarnabasProcess
from broker_facts import create_topics
from confluent_kafka.admin import AdminClient
from coordinated import (
    OFFSETS,
    PARTITIONS,
    TOPIC,
    TRANSACTIONS,
    Coordinated,
    await_coordinators,
)
from coordinator_answers import everything
from eventually import eventually
from quick_clients import alter
from wire_client import WireClient, read_log

ONE_PARTITION = (
    "offsets.topic.num.partitions=1",
    "transaction.state.log.num.partitions=1",
    "group.initial.rebalance.delay.ms=500",
    "log.cleaner.backoff.ms=100",
    "log.cleaner.delete.retention.ms=0",
    "log.segment.delete.delay.ms=0",
)
End = Callable[[BarnabasProcess], object]


def stopped(broker: BarnabasProcess) -> None:
    assert "Traceback" not in broker.stop()


def killed(broker: BarnabasProcess) -> None:
    assert "Traceback" not in broker.kill()


def make_segments_small(broker: BarnabasProcess, client: WireClient) -> None:
    """Of the internal topics: what is compacted are closed segments."""
    await_coordinators(client)
    settings = {"internal_segment_bytes": "2048", "min_cleanable_dirty_ratio": "0.001"}
    for topic in (OFFSETS, TRANSACTIONS):
        alter(broker.bootstrap, "topic", topic, **settings)


def compact(broker: BarnabasProcess, client: WireClient, filled: Coordinated) -> None:
    """Have both internal topics compacted: what was replaced is no longer in their logs."""

    def has_gaps(topic: str, below: int) -> bool:
        """Most of its first records are gone.  Behind an open transaction they all stay."""
        return sum(record.offset < below for record in read_log(client, topic)) < below // 2

    def is_compacted() -> bool:
        filled.commit("filler", "", -1, "." * 1000)  # closes segments
        filled.end("filler", _written(filled), commit=True)
        return has_gaps(OFFSETS, 200) and has_gaps(TRANSACTIONS, 40)

    eventually(is_compacted, timeout_s=60, what="compacted")
    for topic in (OFFSETS, TRANSACTIONS):
        eventually(lambda t=topic: f"Compacted {t}-0" in broker.log)
        files = sorted((broker.data_dir / f"{topic}-0").glob("*.log"))
        assert files[0].stat().st_size < 64 << 10


def _written(filled: Coordinated) -> tuple[int, int]:
    who = filled.begin("filler")
    filled.write("filler", who)
    return who


@pytest.mark.parametrize("is_compacted", [False, True], ids=["whole", "compacted"])
@pytest.mark.parametrize("end", [stopped, killed])
def test_everything_is_as_it_was(tmp_path: Path, end: End, is_compacted: bool) -> None:
    with BarnabasProcess(tmp_path, *ONE_PARTITION) as broker:
        create_topics(broker.bootstrap, TOPIC, partitions=PARTITIONS)
        with WireClient(broker.port) as client:
            filled = Coordinated(client)
            if is_compacted:
                make_segments_small(broker, client)
            filled.fill()
            if is_compacted:
                compact(broker, client, filled)
            before = everything(client)
            shown = groups_shown_by_a_client(broker)
        end(broker)
        broker.start(same_port=True)
        with WireClient(broker.port) as client:
            after = everything(client)
            for question, answer in before.items():
                assert after[question] == answer, question
            assert groups_shown_by_a_client(broker) == shown
            check_that_members_stay(client, filled)
            assert everything(client) == before


def groups_shown_by_a_client(broker: BarnabasProcess) -> list[str]:
    """The same through a client that we did not write."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    names = ["eager", "cooperative", "static", "empty", "simple", "consumer"]
    found = admin.describe_consumer_groups(names, request_timeout=30)
    groups = [found[name].result(30) for name in names]
    return [
        f"{group.group_id} {group.state} {group.partition_assignor} "
        + ", ".join(
            sorted(
                f"{m.member_id} {m.group_instance_id} {m.client_id} {m.host} "
                f"{[(p.topic, p.partition) for p in m.assignment.topic_partitions]}"
                for m in group.members
            )
        )
        for group in groups
    ]


def check_that_members_stay(client: WireClient, filled: Coordinated) -> None:
    """Whoever lived goes on with its next heartbeat, and nobody has to join again."""
    for old in filled.classic:
        if old.group != "mixed":  # its rebalance goes on, as it would have without the restart
            answer = client.call(old.heartbeat(), 4)
            assert answer.error_code == 0, (old, answer)
    for member in filled.consumer:
        answer = client.call(member.heartbeat(), 1)
        assert (answer.error_code, answer.member_epoch) == (0, member.epoch), (member, answer)


def test_a_member_that_died_with_the_broker_is_removed_after_its_session(tmp_path: Path) -> None:
    limits = ("group.min.session.timeout.ms=100", "group.initial.rebalance.delay.ms=0")
    with BarnabasProcess(tmp_path, *limits) as broker:
        create_topics(broker.bootstrap, TOPIC, partitions=PARTITIONS)
        with WireClient(broker.port) as client:
            await_coordinators(client)
            filled = Coordinated(client)
            filled.session_ms = 4000
            (member,) = filled.join("short", "range", 1)
        broker.kill()
        broker.start(same_port=True)
        with WireClient(broker.port) as client:
            await_coordinators(client)
            assert client.call(member.heartbeat(), 4).error_code == 0

            def state() -> str:
                (group,) = [g for g in everything(client)["listed"].groups if g.group_id == "short"]
                return str(group.group_state)

            assert state() == "Stable"
            eventually(lambda: state() == "Empty")
