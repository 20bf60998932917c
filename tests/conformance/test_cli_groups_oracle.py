"""Our tool for groups prints what Apache Kafka's prints of the same broker.

The groups have live members of both protocols, joined by librdkafka.  What differs on purpose is
undone before comparing: our errors and warnings go to stderr and fail the tool, and rows that are
in the order of one of Java's hash tables are sorted.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from confluent_kafka import (
    Consumer,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewTopic
from harness.brokers import Broker
from harness.jvm import Jvm
from harness.side_by_side import GROUPS, Outcome, ours, theirs

from barnabas.client.patience import PASSING

BASE_MS = 1_700_000_000_000
HOUR_MS = 3_600_000
LONG_TOPIC = "a-topic-with-a-rather-long-name"


@dataclass(slots=True)
class Cluster:
    """A broker with groups: `live`, `newer` and `mixed` are stable, with members of the classic, of
    the newer and of both protocols; `joining` and `moving` wait for a member that does not move;
    `simple` has offsets and no members.
    """

    broker: Broker
    jvm: Jvm
    members: list[Consumer] = field(default_factory=list)

    def both(self, main: str, line: str) -> tuple[Outcome, Outcome]:
        return ours(main, self.broker, line), theirs(self.jvm, main, self.broker, line)

    def admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.broker.bootstrap})

    def join(self, group: str, client_id: str, topics: Sequence[str], **settings: str) -> Consumer:
        member = Consumer(
            {
                "bootstrap.servers": self.broker.bootstrap,
                "group.id": group,
                "client.id": client_id,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                **{name.replace("_", "."): value for name, value in settings.items()},
            }
        )
        member.subscribe(list(topics))
        self.members.append(member)
        return member

    def commit(self, group: str, *offsets: tuple[str, int, int]) -> None:
        """Without joining; tried again while the coordinator is being made."""
        consumer = Consumer({"bootstrap.servers": self.broker.bootstrap, "group.id": group})

        def done() -> bool:
            try:
                consumer.commit(
                    offsets=[TopicPartition(*each) for each in offsets], asynchronous=False
                )
            except KafkaException as error:
                if error.args[0].name() not in PASSING:
                    raise
                return False
            return True

        until(done)
        consumer.close()


def until(condition: Callable[[], bool], *, seconds: float = 60) -> None:
    give_up = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < give_up, "not in time"


def assigned(members: Sequence[Consumer], count: int) -> None:
    """Polls members until all have partitions, so many together, and nobody moves any more."""
    seen = []

    def settled() -> bool:
        for member in members:
            member.poll(0.05)
        seen.append([len(member.assignment()) for member in members])
        steady = len(seen) >= 20 and seen[-20:] == [seen[-1]] * 20
        return steady and sum(seen[-1]) == count and min(seen[-1]) > 0

    until(settled)


def in_state(cluster: Cluster, group: str, state: str) -> Callable[[], bool]:
    line = f"--describe --group {group} --state"
    return lambda: state in theirs(cluster.jvm, GROUPS, cluster.broker, line).out


def make_topics(broker: Broker) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    kept = {"retention.ms": "-1"}
    topics = [NewTopic("t", 3, 1, config=kept), NewTopic(LONG_TOPIC, 1, 1, config=kept)]
    topics += [NewTopic("two", 2, 1, config=kept), NewTopic("empty", 1, 1)]
    for future in admin.create_topics(topics).values():
        future.result()
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for n in range(30):
        producer.produce("t", b"x", partition=n % 3, timestamp=BASE_MS + n * 1000)
    now = int(time.time() * 1000)
    for n in range(5):  # one an hour, up to now
        producer.produce(LONG_TOPIC, b"x", timestamp=now - (4 - n) * HOUR_MS)
        producer.produce("two", b"x", partition=n % 2, timestamp=BASE_MS)
    assert producer.flush(30) == 0


@pytest.fixture(scope="module")
def cluster(jvm: Jvm, target: Broker) -> Iterator[Cluster]:
    make_topics(target)
    made = Cluster(target, jvm)
    try:
        fill(made)
        yield made
    finally:
        for member in made.members:
            member.close()


def fill(cluster: Cluster) -> None:
    join = cluster.join
    cluster.commit("simple", ("t", 0, 4), ("t", 2, 9), (LONG_TOPIC, 0, 2))
    live = [join("live", "one", ["t"]), join("live", "two", ["t"], group_instance_id="i2")]
    live.append(join("live", "third", ["empty"]))
    newer = [
        join("newer", "first", ["t", "two"], group_protocol="consumer"),
        join("newer", "second", ["t"], group_protocol="consumer", group_instance_id="s"),
    ]
    assigned(live, 4)
    assigned(newer, 5)
    live[0].commit(offsets=[TopicPartition("t", 0, 3)], asynchronous=False)
    newer[0].commit(offsets=[TopicPartition("two", 1, 1, leader_epoch=0)], asynchronous=False)
    mixed = [join("mixed", "older", ["two"], partition_assignment_strategy="range")]
    assigned(mixed, 2)
    mixed.append(join("mixed", "upgraded", ["two"], group_protocol="consumer"))
    assigned(mixed, 2)
    joining = join("joining", "stays", ["t"])
    assigned([joining], 3)
    late = join("joining", "waits", ["t"])
    waits = in_state(cluster, "joining", "PreparingRebalance")
    until(lambda: late.poll(0.05) is None and waits())
    moving = join("moving", "holds", ["two"], group_protocol="consumer")
    assigned([moving], 2)
    join("moving", "wants", ["two"], group_protocol="consumer")
    until(in_state(cluster, "moving", "Reconciling"))


@pytest.mark.parametrize("view", ["", "--members", "--state"])
@pytest.mark.parametrize("verbose", ["", "--verbose"])
@pytest.mark.parametrize(
    "groups",
    [
        "--group simple",
        "--group live",
        "--group newer",
        "--group mixed",
        "--group joining",
        "--group moving",
        "--group simple --group live",
        "--all-groups",
    ],
)
def test_groups_are_described_alike(cluster: Cluster, groups: str, verbose: str, view: str) -> None:
    mine, java = cluster.both(GROUPS, f"--describe {groups} {view} {verbose}")
    assert mine == java
    assert mine.status == 0


@pytest.mark.parametrize(
    ("line", "sign"),
    [
        ("--group simple", "Consumer group 'simple' has no active members."),
        ("--group live --members", "GROUP-INSTANCE-ID"),
        ("--group newer --verbose", "LEADER-EPOCH"),
        ("--group mixed --members --verbose", "UPGRADED"),
        ("--group joining", "Warning: Consumer group 'joining' is rebalancing."),
        ("--group moving", "Warning: Consumer group 'moving' is rebalancing."),
        ("--group moving --state", "Reconciling"),
    ],
)
def test_the_groups_are_what_they_are_meant_to_be(cluster: Cluster, line: str, sign: str) -> None:
    java = theirs(cluster.jvm, GROUPS, cluster.broker, f"--describe {line}")
    assert sign in java.out + java.err


LISTS = [
    "",
    "--state",
    "--type",
    "--state --type",
    "--state Stable,empty",
    "--state preparingrebalance",
    "--state Assigning,Reconciling",
    "--type consumer",
    "--type classic --state",
]


@pytest.mark.parametrize("line", LISTS)
def test_groups_are_listed_alike(cluster: Cluster, line: str) -> None:
    mine, java = cluster.both(GROUPS, f"--list {line}")
    assert (mine.status, java.status) == (0, 0)
    assert mine.out.splitlines() != []
    assert (mine.lines(), mine.err) == (java.lines(), java.err)


RESETS = [
    "--topic t --to-earliest",
    "--topic t --to-latest --dry-run",
    "--topic t:0,1 --topic two --to-latest --dry-run",
    "--all-topics --to-current --dry-run",
    "--topic t --topic empty --to-current --dry-run",
    "--topic t --to-offset 5 --dry-run",
    "--topic t:1 --to-offset 500 --dry-run",
    "--topic t:1 --to-offset -1 --dry-run",
    "--all-topics --shift-by 3 --dry-run",
    "--all-topics --shift-by -4 --dry-run",
    "--topic t:0 --shift-by 200 --dry-run",
    "--topic t --to-datetime 2023-11-14T22:13:30.000 --dry-run",
    "--topic t --to-datetime 2023-11-14T23:13:30.500+01:00 --dry-run",
    "--topic t --to-datetime 2023-11-14T22:13:30.000Z --dry-run",
    "--topic t --topic empty --to-datetime 2033-11-14T22:13:30.000 --dry-run",
    "--all-topics --by-duration PT90M --dry-run",
    "--all-topics --by-duration P1DT2H3M4.5S --dry-run",
    "--all-topics --to-earliest --dry-run --export",
    "--group other --topic t --to-offset 5 --dry-run --export",
    "--group live --group none --topic t --to-latest --dry-run",
]


@pytest.mark.parametrize("line", RESETS)
def test_new_offsets_are_found_alike(cluster: Cluster, line: str) -> None:
    mine, java = cluster.both(GROUPS, f"--reset-offsets --group simple {line}")
    assert mine.lines() == java.lines()
    assert java.status == 0
    assert mine.status == (1 if "live" in line else 0)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "--list --describe --group g",
        "--describe",
        "--delete",
        "--describe --group simple --all-groups",
        "--describe --group simple --members --state",
        "--describe --group simple --state stable",
        "--describe --group simple --topic t",
        "--list --group simple",
        "--list --state odd",
        "--list --type odd",
        "--list --members",
        "--delete --group simple --topic t",
        "--delete-offsets --group simple",
        "--delete-offsets --topic t",
        "--reset-offsets --group simple --topic t",
        "--reset-offsets --group simple --to-latest",
        "--reset-offsets --topic t --to-latest",
        "--reset-offsets --group simple --topic t --to-latest --to-earliest",
        "--reset-offsets --group simple --topic t --to-latest --execute --dry-run",
        "--reset-offsets --group simple --topic t:x --to-latest --dry-run",
        "--reset-offsets --group simple --topic t --shift-by 1 --dry-run",
        "--nonsense",
    ],
)
def test_what_they_refuse_we_refuse(cluster: Cluster, line: str) -> None:
    mine, java = cluster.both(GROUPS, line)
    assert (mine.status, java.status) == (1, 1)
    assert (mine.out, mine.err.count("\n")) == ("", 1)


@pytest.mark.parametrize(
    "line",
    [
        "--describe --group none",
        "--describe --group none --members",
        "--describe --group none --state",
        "--reset-offsets --group simple --topic t:7 --to-latest --execute",
        "--reset-offsets --group simple --topic none --to-latest --execute",
        "--reset-offsets --group simple --topic none:0 --to-latest --execute",
        "--reset-offsets --group simple --topic t --to-offset some --dry-run",
        "--reset-offsets --group simple --topic t --to-datetime soon --dry-run",
        "--reset-offsets --group simple --topic t --by-duration 1h --dry-run",
        "--reset-offsets --group simple --from-file /none/such --dry-run",
    ],
)
def test_where_they_print_an_error_we_fail(cluster: Cluster, line: str) -> None:
    mine, java = cluster.both(GROUPS, line)
    assert "\nError: " in java.out
    assert (mine.status, mine.out, mine.err.strip().count("\n")) == (1, "", 0)


def each_on_its_own(cluster: Cluster, lines: Sequence[str]) -> None:
    """Runs each line with both tools, on groups of their own that are otherwise the same."""
    different = []
    for line in lines:
        mine = ours(GROUPS, cluster.broker, line.format(g="own-o"))
        java = theirs(cluster.jvm, GROUPS, cluster.broker, line.format(g="own-j"))
        got = [each.replace("own-o", "own-G") for each in mine.lines()]
        expected = [each.replace("own-j", "own-G") for each in java.lines()]
        if got != expected:
            different.append((line, got, expected))
    assert different == []


def test_offsets_are_set_and_deleted_alike(cluster: Cluster) -> None:
    each_on_its_own(
        cluster,
        [
            f"--reset-offsets --group {{g}} --topic t --topic {LONG_TOPIC} --to-latest --execute",
            "--describe --group {g}",
            "--reset-offsets --group {g} --topic t:1 --shift-by -4 --execute",
            "--reset-offsets --group {g} --topic t:2 --to-earliest --execute --export",
            "--describe --group {g} --offsets",
            "--delete-offsets --group {g} --topic t:0",
            "--delete-offsets --group {g} --topic t:1,2 --topic two",
            "--describe --group {g} --verbose",
            "--delete --group {g}",
            "--list --state dead",
        ],
    )


def test_groups_are_deleted_alike(cluster: Cluster) -> None:
    for group in ("own-o", "own-j"):
        cluster.commit(group, ("t", 0, 1))
    each_on_its_own(
        cluster,
        [
            "--delete --group live --group {g}",
            "--delete --group {g}",
            "--delete --group newer",
        ],
    )


@pytest.mark.parametrize(
    "line",
    [
        "--delete-offsets --group live --topic t",
        "--delete-offsets --group newer --topic two:1",
        "--delete-offsets --group none --topic t:0",
        "--delete-offsets --group simple --topic none:0",
    ],
)
def test_offsets_that_cannot_be_deleted_are_shown_alike(cluster: Cluster, line: str) -> None:
    mine, java = cluster.both(GROUPS, line)
    assert mine.status == 1

    def without_reasons(outcome: Outcome) -> list[str]:
        return [re.sub(r"Error: .*", "Error", each) for each in outcome.lines()]

    assert without_reasons(mine) == without_reasons(java)


@pytest.mark.parametrize("groups", ["--group simple", "--group simple --group file,o", ""])
def test_a_file_of_offsets_serves_both(cluster: Cluster, tmp_path: Path, groups: str) -> None:
    cluster.commit("file,o", (LONG_TOPIC, 0, 3), ("two", 1, 1))
    wanted = f"--reset-offsets {groups or '--all-groups'} --dry-run"
    mine, java = cluster.both(GROUPS, f"{wanted} --all-topics --to-current --export")
    assert mine.lines() == java.lines()
    for exported in (mine.out, java.out):
        plan = tmp_path / "plan.csv"
        rows = [line for line in exported.splitlines() if line and not line.startswith("Error")]
        plan.write_text("\n".join(rows) + "\n")
        read_by_us, read_by_java = cluster.both(GROUPS, f"{wanted} --from-file {plan}")
        assert read_by_us.lines() == read_by_java.lines()
        assert len(read_by_us.lines()) > 3
