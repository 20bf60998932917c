"""Apache Kafka's own tools print of our cluster what they print of an Apache Kafka cluster.

Both have three brokers.  Brokers are stopped and started, leaders elected, replicas moved; after
each step the same tools with the same arguments must say the same.  Replicas are placed by hand:
where a broker puts them is its own affair.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from harness import transcript as tools
from harness.clusters import ApacheCluster, BarnabasCluster, Cluster
from harness.jvm import Jvm, program
from harness.processes import Child
from harness.transcript import Step, run_step, step, transcript

B = "--bootstrap-server {bootstrap}"
FILTERS = (
    "",
    " --under-replicated-partitions",
    " --unavailable-partitions",
    " --under-min-isr-partitions",
    " --at-min-isr-partitions",
    " --topics-with-overrides",
)


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Cluster]]:
    """Apache Kafka's first."""
    folder = tmp_path_factory.mktemp("clusters")
    made: list[Cluster] = [ApacheCluster(folder / "apache"), BarnabasCluster(folder / "barnabas")]
    try:
        for cluster in made:
            cluster.start()
        yield made
    finally:
        for cluster in made:
            cluster.discard()


class Compared:
    """Says to both clusters what is to be done, and compares what comes of it."""

    def __init__(self, jvm: Jvm, clusters: list[Cluster]) -> None:
        self.jvm = jvm
        self.clusters = clusters

    def same(self, *steps: Step) -> str:
        """All steps print the same; what they print."""
        expected, found = (
            _comparable(transcript(self.jvm, cluster, steps)) for cluster in self.clusters
        )
        assert found == expected
        return expected

    def describe(self, topics: str) -> str:
        return self.same(
            *(step(tools.TOPICS, f"{B} --describe --topic {topics}{one}") for one in FILTERS)
        )

    def create(self, name: str, assignment: str, **config: str) -> None:
        settings = "".join(f" --config {k.replace('_', '.')}={v}" for k, v in config.items())
        line = f"{B} --create --topic {name} --replica-assignment {assignment}{settings}"
        self.same(step(tools.TOPICS, line))
        self.await_in_sync(name)

    def await_in_sync(self, *topics: str) -> None:
        for cluster in self.clusters:
            for topic in topics:
                cluster.await_in_sync(topic)

    def stop(self, node: int) -> None:
        for cluster in self.clusters:
            cluster.stop_node(node)

    def start(self, node: int) -> None:
        for cluster in self.clusters:
            cluster.start_node(node)

    def await_moved(self, topic: str) -> None:
        """Until no partition of it is on its way."""
        for cluster in self.clusters:
            while topic in run_step(self.jvm, cluster, step(tools.REASSIGN, f"{B} --list")).out:
                pass  # each look is a round trip; the test's own time limit bounds it
            cluster.await_in_sync(topic)


OWN_WORDS = re.compile(
    r"((?:PreferredLeaderNotAvailable|EligibleLeadersNotAvailable|ElectionNotNeeded"
    r"|NoReassignmentInProgress)Exception): .*"
)


def _comparable(text: str) -> str:
    """In which order a broker tells who is in sync is nobody's contract; and an error that has no
    story of its own is told in each broker's words."""

    def in_order(found: re.Match[str]) -> str:
        return found[1] + ",".join(sorted(found[2].split(",")))

    return OWN_WORDS.sub(r"\1: WORDS", re.sub(r"(Isr: )([\d,]+)", in_order, text))


@pytest.fixture
def both(jvm: Jvm, clusters: list[Cluster]) -> Compared:
    """With all nodes running, whatever the test before has left."""
    for cluster in clusters:
        for number, node in cluster.nodes.items():
            if node.child.status is not None:
                cluster.start_node(number)
    return Compared(jvm, clusters)


def plan(path: Path, *moves: tuple[str, int, list[int]], **extra: Any) -> Path:
    """A file as ReassignPartitionsCommand reads it."""
    partitions = [
        {"topic": topic, "partition": index, "replicas": replicas, **extra}
        for topic, index, replicas in moves
    ]
    path.write_text(json.dumps({"version": 1, "partitions": partitions}))
    return path


def reassign(plan: Path, action: str) -> Step:
    return step(tools.REASSIGN, f"{B} --reassignment-json-file {plan} {action}")


def test_topics_are_described_alike_while_a_broker_is_away(both: Compared, topic: str) -> None:
    t = topic
    both.create(f"{t}-a", "1:2:3,2:3:1,3:1:2", min_insync_replicas="2")
    both.create(f"{t}-b", "3:1,1:2", min_insync_replicas="2")
    both.create(f"{t}-c", "3,1")
    everything = f"{t}-.*"
    both.describe(everything)

    both.stop(3)
    told = both.describe(everything)
    assert "Leader: none" in told
    both.same(step(tools.TOPICS, f"{B} --create --topic {t}-x --replica-assignment 1:9"))

    both.start(3)
    both.await_in_sync(f"{t}-a", f"{t}-b", f"{t}-c")
    assert "Leader: none" not in both.describe(everything)


def test_leaders_are_elected_alike(both: Compared, topic: str, tmp_path: Path) -> None:
    t = topic
    both.create(t, "3:1,3:2,1:2")
    both.stop(3)
    both.start(3)
    both.await_in_sync(t)
    both.describe(t)
    chosen = tmp_path / "chosen.json"
    chosen.write_text(json.dumps({"partitions": [{"topic": t, "partition": 1}]}))
    by_hand = f"{B} --election-type preferred --topic {t} --partition"

    both.same(
        step(tools.ELECT, f"{by_hand} 0"),
        step(tools.ELECT, f"{by_hand} 0"),
        step(tools.ELECT, f"{by_hand} 7"),
        step(tools.ELECT, f"{B} --election-type unclean --topic {t} --partition 2"),
        step(tools.ELECT, f"{B} --election-type preferred --path-to-json-file {chosen}"),
        step(tools.ELECT, f"{B} --election-type preferred --topic {t}-none --partition 0"),
    )
    assert both.describe(t).count("Leader: 3") >= 2


def test_nobody_is_elected_uncleanly_unless_asked_for(both: Compared, topic: str) -> None:
    """The only replica in sync is away: the other leads by hand alone."""
    t = topic
    both.create(t, "3:2")
    both.stop(2)
    both.stop(3)
    both.start(2)
    told = both.describe(t)
    assert "Leader: none" in told

    both.same(
        step(tools.ELECT, f"{B} --election-type preferred --topic {t} --partition 0"),
        step(tools.ELECT, f"{B} --election-type unclean --topic {t} --partition 0"),
        step(tools.ELECT, f"{B} --election-type unclean --topic {t} --partition 0"),
    )
    assert "Leader: 2" in both.describe(t)
    both.start(3)
    both.await_in_sync(t)
    both.describe(t)


def test_a_topic_that_is_set_to_allow_it_gets_an_unclean_leader(both: Compared, topic: str) -> None:
    t = topic
    both.create(t, "3:2")
    both.stop(2)
    both.stop(3)
    both.start(2)
    allow = f"--entity-type topics --entity-name {t} --alter --add-config"
    both.same(step(tools.CONFIGS, f"{B} {allow} unclean.leader.election.enable=true"))
    for cluster in both.clusters:
        cluster.await_topic(t, lambda partitions: partitions[0].leader == 2)
    both.describe(t)
    both.start(3)
    both.await_in_sync(t)


def test_replicas_are_moved_alike(both: Compared, topic: str, tmp_path: Path) -> None:
    t = topic
    both.create(t, "1:2,2:3,3:1")
    moves = plan(tmp_path / "plan.json", (t, 0, [2, 3]), (t, 1, [3, 2]), (t, 2, [3, 1, 2]))

    both.same(reassign(moves, "--verify"))
    both.same(reassign(moves, "--execute"))
    both.await_moved(t)
    both.same(reassign(moves, "--verify"), step(tools.REASSIGN, f"{B} --list"))
    both.describe(t)


def test_a_move_on_its_way_is_told_and_cancelled_alike(
    both: Compared, topic: str, tmp_path: Path
) -> None:
    """Five megabytes at a kilobyte a second: it will not end by itself."""
    t = topic
    both.create(t, "1:2,3:1")
    for cluster in both.clusters:
        fill = f"--topic {t} --num-records 10000 --record-size 1000 --throughput -1"
        place = "--producer-props bootstrap.servers={bootstrap} acks=all"
        assert run_step(both.jvm, cluster, step(tools.PRODUCER_PERFORMANCE, f"{fill} {place}"))
    moves = plan(tmp_path / "plan.json", (t, 0, [3, 1]), (t, 1, [2, 3]))
    other = plan(tmp_path / "other.json", (t, 0, [3, 2]))

    both.same(reassign(moves, "--execute --throttle 1000"))
    both.same(
        step(tools.REASSIGN, f"{B} --list"),
        reassign(moves, "--verify"),
        reassign(other, "--execute"),
    )
    both.describe(t)
    both.same(reassign(moves, "--cancel"))
    both.await_in_sync(t)
    both.same(
        step(tools.REASSIGN, f"{B} --list"),
        reassign(moves, "--verify"),
        reassign(moves, "--cancel"),
    )
    both.describe(t)


def test_a_broker_that_is_away_cannot_be_moved_to(
    both: Compared, topic: str, tmp_path: Path
) -> None:
    both.create(topic, "1:2")
    both.stop(3)
    moves = plan(tmp_path / "plan.json", (topic, 0, [3, 1]))

    both.same(reassign(moves, "--execute"))
    both.describe(topic)


def test_a_throttled_move_sets_the_throttles_and_takes_them_away(
    both: Compared, topic: str, tmp_path: Path
) -> None:
    t = topic
    both.create(t, "1:2")
    moves = plan(tmp_path / "plan.json", (t, 0, [2, 3]))
    settings = f"{B} --describe --entity-type topics --entity-name {t}"
    rates = f"{B} --describe --entity-type brokers --entity-name 2"

    both.same(reassign(moves, "--execute --throttle 50000000"))
    both.await_moved(t)
    both.same(step(tools.CONFIGS, settings), step(tools.CONFIGS, rates))
    both.same(reassign(moves, "--verify"))
    both.same(step(tools.CONFIGS, settings), step(tools.CONFIGS, rates))


@pytest.mark.parametrize(
    "replicas", [[1, 1], [1, 9], []], ids=["a-broker-twice", "no-such-broker", "nobody"]
)
def test_a_plan_that_cannot_be_is_refused_alike(
    both: Compared, topic: str, tmp_path: Path, replicas: list[int]
) -> None:
    both.create(topic, "1:2")
    moves = plan(tmp_path / "plan.json", (topic, 0, replicas))
    unknown = plan(tmp_path / "unknown.json", (f"{topic}-none", 0, [1]))

    both.same(
        reassign(moves, "--execute"),
        reassign(unknown, "--execute"),
        reassign(unknown, "--verify"),
        reassign(unknown, "--cancel"),
    )
    both.describe(topic)


def test_replicas_are_verified_alike(both: Compared, topic: str, tmp_path: Path) -> None:
    """The tool reads each replica at its own broker and compares; it would never end by itself."""
    both.create(topic, "1:2:3")
    told = [
        _verified(both.jvm, cluster, topic, tmp_path / f"{cluster.name}.log")
        for cluster in both.clusters
    ]

    assert told == [f"max lag is 0 for partition {topic}-0 at offset 1000 among 1 partitions"] * 2


def _verified(jvm: Jvm, cluster: Cluster, topic: str, log: Path) -> str:
    """What is reported once the last of a thousand records was compared."""
    fill = f"--topic {topic} --num-records 1000 --record-size 100 --throughput -1"
    place = "--producer-props bootstrap.servers={bootstrap} acks=all"
    assert not run_step(jvm, cluster, step(tools.PRODUCER_PERFORMANCE, f"{fill} {place}")).status
    command = [*program(tools.VERIFY_REPLICAS), "--broker-list", cluster.bootstrap, "--time", "-2"]
    command += ["--topics-include", topic, "--report-interval-ms", "200"]
    child = Child(command, log_path=log, cwd=log.parent)

    def last() -> re.Match[str] | None:
        return re.search(r"max lag is .* at offset 1000 .*", child.log_text())

    try:
        child.wait_until(lambda: last() is not None, what="comparison", seconds=60)
    finally:
        child.kill()
    assert "differ" not in child.log_text()
    found = last()
    assert found is not None
    return found[0]


def test_eligible_leaders_are_told_alike(both: Compared, topic: str) -> None:
    """The last test of this file: it switches the feature on for good."""
    t = topic
    both.create(t, "1:2:3,3:2:1", min_insync_replicas="2")
    upgrade = "upgrade --feature eligible.leader.replicas.version=1"
    both.same(step(tools.FEATURES, f"{B} {upgrade}"))
    both.describe(t)

    both.stop(3)
    both.describe(t)
    both.stop(2)
    told = both.describe(t)
    assert "Elr: 2" in told
    brokers = f"{B} --entity-type brokers --alter"
    both.same(
        step(tools.CONFIGS, f"{B} --describe --entity-type brokers --entity-default"),
        step(tools.CONFIGS, f"{brokers} --entity-default --delete-config min.insync.replicas"),
        step(tools.CONFIGS, f"{brokers} --entity-name 1 --add-config min.insync.replicas=1"),
    )

    both.start(3)
    for cluster in both.clusters:
        cluster.await_topic(t, lambda found: all(set(p.isr) == {1, 3} for p in found.values()))
    assert "Elr: 2" not in both.describe(t), "there are enough in sync again"
    both.start(2)
    both.await_in_sync(t)
    both.describe(t)
