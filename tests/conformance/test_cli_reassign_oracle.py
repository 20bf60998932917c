"""Our tools that move replicas and elect leaders print what Apache Kafka's print, on three brokers.

Each scene is played twice in the same cluster, once with our tools and once with Apache Kafka's, on
topics of their own; both must have said the same, line by line, and left the same behind.  What
differs on purpose is undone before comparing: names of Java's classes, and the end of a line that
Java forgets.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from harness import transcript as tools
from harness.clients import JavaClient
from harness.clusters import ApacheCluster, BarnabasCluster, Cluster
from harness.jvm import Jvm
from harness.side_by_side import JAVA_NOISE, Outcome, ours, theirs
from harness.targets import TARGETS
from harness.transcript import run_step, step

KINDS = {"apache": ApacheCluster, "barnabas": BarnabasCluster}


@pytest.fixture(scope="module", params=TARGETS)
def cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    made: Cluster = KINDS[request.param](tmp_path_factory.mktemp(request.param))
    try:
        made.start()
        yield made
    finally:
        made.discard()


@dataclass(slots=True)
class Stage:
    """Where a scene is played: the tools of one side, and what they said so far."""

    side: str
    jvm: Jvm
    cluster: Cluster
    folder: Path
    topic: str
    said: list[str] = field(default_factory=list)

    def create(self, assignment: str) -> None:
        line = f"--bootstrap-server {{bootstrap}} --create --topic {self.topic}"
        made = run_step(
            self.jvm, self.cluster, step(tools.TOPICS, f"{line} --replica-assignment {assignment}")
        )
        assert made.status == 0, made.out
        self.cluster.await_in_sync(self.topic)

    def fill(self) -> None:
        """Ten megabytes."""
        line = f"--topic {self.topic} --num-records 10000 --record-size 1000 --throughput -1"
        place = "--producer-props bootstrap.servers={bootstrap} acks=all"
        run = run_step(self.jvm, self.cluster, step(tools.PRODUCER_PERFORMANCE, f"{line} {place}"))
        assert run.status == 0, run.out

    def plan(self, moves: dict[int, list[int]], **extra: Any) -> Path:
        """A file that says where the partitions of the topic are to be."""
        return self.file(
            {
                "partitions": [
                    {"topic": self.topic, "partition": number, "replicas": replicas, **extra}
                    for number, replicas in moves.items()
                ]
            }
        )

    def file(self, document: Any) -> Path:
        path = self.folder / f"{self.side}-{len(self.said)}.json"
        text = document if isinstance(document, str) else json.dumps({"version": 1, **document})
        path.write_text(text)
        return path

    def run(self, main: str, line: str) -> Outcome:
        if self.side == "ours":
            outcome = ours(main, self.cluster, line)
        else:
            outcome = theirs(self.jvm, main, self.cluster, line)
        self.said.append(f"$ {line}\n{self._plain(outcome)}\nstatus: {outcome.status}")
        JavaClient(self.jvm, self.cluster).settle()
        return outcome

    def reassign(self, plan: Path, action: str) -> Outcome:
        return self.run(tools.REASSIGN, f"--reassignment-json-file {plan} {action}")

    def look(self, main: str, line: str) -> None:
        """With Apache Kafka's tool, whoever's turn it is."""
        run = theirs(self.jvm, main, self.cluster, line)
        self.said.append(self._plain(run))

    def await_moved(self) -> None:
        line = step(tools.REASSIGN, "--bootstrap-server {bootstrap} --list")
        while self.topic in run_step(self.jvm, self.cluster, line).out:
            pass  # each look is a round trip; the test's own time limit bounds it
        self.cluster.await_in_sync(self.topic)

    def end(self) -> None:
        """Nothing is left that the tools of the other side could come across."""
        line = f"--bootstrap-server {{bootstrap}} --delete --if-exists --topic {self.topic}"
        run_step(self.jvm, self.cluster, step(tools.TOPICS, line))
        JavaClient(self.jvm, self.cluster).settle()

    def _plain(self, outcome: Outcome) -> str:
        text = JAVA_NOISE.sub("", outcome.out + outcome.err)
        text = re.sub(r"org\.apache\.kafka\.[\w.]+Exception: ", "", text)
        text = re.sub(r"(?m)^\tSuppressed: .*\n", "", text)
        text = re.sub(r"(?m)^kafka-[\w-]+: ", "", text)
        text = re.sub(r"TopicId: [\w-]{22}", "TopicId: ID", text)
        text = text.replace("moves are active.Clearing", "moves are active.\nClearing")
        for node in self.cluster.nodes.values():
            text = text.replace(str(node.data_dir), "DATA")
        text = text.replace(self.topic, "T").replace(f"{self.folder}/{self.side}", "FILE")
        return "\n".join(line for line in text.splitlines() if line)


Play = Callable[[Callable[[Stage], None]], str]


@pytest.fixture
def play(jvm: Jvm, cluster: Cluster, topic: str, tmp_path: Path) -> Play:
    """Plays a scene with the tools of both sides; what they said, which is the same."""
    for number, node in cluster.nodes.items():
        if node.child.status is not None:
            cluster.start_node(number)

    def play_both(scene: Callable[[Stage], None]) -> str:
        told = {}
        for side in ("java", "ours"):
            stage = Stage(side, jvm, cluster, tmp_path, f"{side}-{topic[-60:]}")
            try:
                scene(stage)
            finally:
                stage.end()
            told[side] = "\n".join(stage.said).replace(stage.topic, "T")
            told[side] = told[side].replace(f"{tmp_path}/{side}", "FILE")
        assert told["ours"] == told["java"]
        return told["ours"]

    return play_both


@pytest.fixture
def alone(jvm: Jvm, cluster: Cluster, topic: str, tmp_path: Path) -> Iterator[Stage]:
    """For our tools, where there is nothing to compare line by line."""
    stage = Stage("ours", jvm, cluster, tmp_path, topic)
    yield stage
    stage.end()


def test_replicas_are_moved_alike(play: Play) -> None:
    def scene(stage: Stage) -> None:
        stage.create("1:2,2:3,3:1")
        moves = stage.plan({0: [2, 3], 1: [3, 2], 2: [3, 1, 2]})
        stage.reassign(moves, "--verify")
        stage.reassign(moves, "--execute")
        stage.await_moved()
        stage.reassign(moves, "--verify")
        stage.reassign(moves, "--verify --preserve-throttles")
        stage.reassign(moves, "--cancel")
        stage.run(tools.REASSIGN, "--list")
        stage.look(tools.TOPICS, f"--describe --topic {stage.topic}")

    told = play(scene)
    assert told.count("is completed.") == 6
    assert "No partition reassignments found." in told


def test_what_undoes_a_move_undoes_it(play: Play) -> None:
    """The file to save for the rollback has log directories in it."""

    def scene(stage: Stage) -> None:
        stage.create("1:2")
        told = stage.reassign(stage.plan({0: [3, 2]}), "--execute")
        stage.await_moved()
        saved = next(line for line in told.out.splitlines() if line.startswith("{"))
        back = stage.file(saved)
        stage.reassign(back, "--execute")
        stage.await_moved()
        stage.reassign(back, "--verify")

    told = play(scene)
    assert "completed successfully." in told


def test_a_throttled_move_is_told_and_cancelled_alike(play: Play) -> None:
    """Ten megabytes at a kilobyte a second: it will not end by itself."""

    def scene(stage: Stage) -> None:
        stage.create("1:2,3:1")
        stage.fill()
        moves = stage.plan({0: [3, 1], 1: [2, 3]})
        stage.reassign(moves, "--execute --throttle 1000")
        stage.look(tools.CONFIGS, f"--describe --entity-type topics --entity-name {stage.topic}")
        stage.look(tools.CONFIGS, "--describe --entity-type brokers --entity-name 2")
        stage.run(tools.REASSIGN, "--list")
        stage.reassign(moves, "--verify")
        stage.reassign(stage.plan({0: [3, 2]}), "--execute")
        stage.reassign(moves, "--execute --additional --throttle 2000")
        stage.look(tools.CONFIGS, "--describe --entity-type brokers --entity-name 2")
        stage.reassign(moves, "--cancel")
        stage.look(tools.CONFIGS, f"--describe --entity-type topics --entity-name {stage.topic}")
        stage.look(tools.CONFIGS, "--describe --entity-type brokers --entity-name 2")
        stage.run(tools.REASSIGN, "--list")

    told = play(scene)
    assert "adding: 3." in told
    assert "Successfully cancelled partition reassignments for: T-0,T-1" in told


def test_a_move_that_only_adds_replicas_is_cancelled_alike(play: Play) -> None:
    def scene(stage: Stage) -> None:
        stage.create("1:2")
        stage.fill()
        plan = stage.plan({0: [1, 2, 3]})
        stage.reassign(plan, "--execute --throttle 1000")
        stage.reassign(plan, "--cancel --preserve-throttles")
        stage.reassign(plan, "--cancel")

    told = play(scene)
    assert told.count("Successfully cancelled") == 1
    assert told.count("Clearing topic-level throttles") == 1


def test_plans_that_cannot_be_are_refused_alike(play: Play) -> None:
    def scene(stage: Stage) -> None:
        stage.create("1:2")
        for replicas in ([1, 1], [1, 9], []):
            stage.reassign(stage.plan({0: replicas}), "--execute")
        stage.reassign(stage.plan({7: [1]}), "--execute")
        stage.reassign(stage.plan({}), "--execute")
        stage.reassign(stage.plan({0: [1], 1: [1]}), "--execute")
        unknown = {"topic": f"{stage.topic}-none", "partition": 0, "replicas": [1]}
        nowhere = stage.file({"partitions": [unknown]})
        for action in ("--execute", "--verify", "--cancel"):
            stage.reassign(nowhere, action)
        twice = {"topic": stage.topic, "partition": 0, "replicas": [1]}
        stage.reassign(stage.file({"partitions": [twice, twice]}), "--execute")

    told = play(scene)
    assert "Error: Unknown broker id 9" in told
    assert "Error: Unable to find partition: T-7" in told


def test_how_many_replicas_there_are_may_be_kept(alone: Stage) -> None:
    """Java leaves it to the broker, which must be newer than 4.0; our tool looks for itself."""
    alone.create("1:2,1:2")
    plan = alone.plan({0: [1], 1: [1, 2, 3]})
    line = f"--reassignment-json-file {plan} --execute --disallow-replication-factor-change"
    mine = alone.run(tools.REASSIGN, line)
    java = theirs(alone.jvm, tools.REASSIGN, alone.cluster, line)
    refused = (
        "Error reassigning partition(s):\n"
        f"{alone.topic}-0: The replication factor is changed from 2 to 1\n"
        f"{alone.topic}-1: The replication factor is changed from 2 to 3\n"
    )
    assert (mine.status, mine.err) == (java.status, refused) == (1, refused)
    if alone.cluster.name == "apache":
        assert java.out == mine.out + mine.err


@pytest.mark.parametrize(
    "document",
    ["", "{", "[]", '{"version": 3}', '{"partitions": [{"topic": "t"}]}', '{"partitions": 1}'],
)
def test_files_that_are_none_are_refused_alike(
    jvm: Jvm, cluster: Cluster, tmp_path: Path, document: str
) -> None:
    path = tmp_path / "plan.json"
    path.write_text(document)
    for line in (
        f"--execute --reassignment-json-file {path}",
        f"--verify --reassignment-json-file {path}",
        f"--cancel --reassignment-json-file {path}",
    ):
        mine = ours(tools.REASSIGN, cluster, line)
        assert theirs(jvm, tools.REASSIGN, cluster, line).status == mine.status == 1
        assert (mine.out, mine.err.count("\n")) == ("", 1)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "--list --verify",
        "--execute",
        "--verify",
        "--cancel",
        "--generate --broker-list 1",
        "--generate --topics-to-move-json-file f",
        "--generate --topics-to-move-json-file /none --broker-list 1",
        "--list --throttle 5",
        "--execute --reassignment-json-file /none",
        "--verify --reassignment-json-file f --additional",
        "--cancel --reassignment-json-file f --throttle 1",
        "--execute --reassignment-json-file f --throttle fast",
        "--nonsense",
    ],
)
def test_command_lines_are_refused_alike(jvm: Jvm, cluster: Cluster, line: str) -> None:
    mine = ours(tools.REASSIGN, cluster, line)
    assert theirs(jvm, tools.REASSIGN, cluster, line).status == mine.status == 1
    assert (mine.out, mine.err.count("\n")) == ("", 1)


def test_places_are_proposed_alike(play: Play, cluster: Cluster) -> None:
    """With one broker there is but one proposal; with more, chance has its part in it."""

    def scene(stage: Stage) -> None:
        stage.create("1,2,3")
        topics = stage.file({"topics": [{"topic": stage.topic}]})
        generate = f"--generate --topics-to-move-json-file {topics}"
        stage.run(tools.REASSIGN, f"{generate} --broker-list 2")
        stage.run(tools.REASSIGN, f"{generate} --broker-list 2 --disable-rack-aware")
        stage.run(tools.REASSIGN, f"{generate} --broker-list 2,2")
        twice = stage.file({"topics": [{"topic": stage.topic}] * 2})
        twice_line = f"--generate --topics-to-move-json-file {twice} --broker-list 2"
        stage.run(tools.REASSIGN, twice_line)
        unknown = stage.file({"topics": [{"topic": f"{stage.topic}-none"}]})
        line = f"--generate --topics-to-move-json-file {unknown} --broker-list 2"
        stage.run(tools.REASSIGN, line)

    assert '"partition":2,"replicas":[2],"log_dirs":["any"]' in play(scene)


def test_proposals_are_plans(alone: Stage) -> None:
    """Apache Kafka's tool carries out what ours proposes."""
    stage = alone
    stage.create("1:2,1:2,1:2")
    topics = stage.file({"topics": [{"topic": stage.topic}]})
    wish = f"--generate --topics-to-move-json-file {topics} --broker-list 1,2,3"
    proposed = stage.run(tools.REASSIGN, wish).out.splitlines()[-1]
    leaders = {each["replicas"][0] for each in json.loads(proposed)["partitions"]}
    assert leaders == {1, 2, 3}
    line = f"--execute --reassignment-json-file {stage.file(proposed)}"
    assert theirs(stage.jvm, tools.REASSIGN, stage.cluster, line).status == 0
    stage.await_moved()
    line = f"--verify --reassignment-json-file {stage.file(proposed)}"
    verified = theirs(stage.jvm, tools.REASSIGN, stage.cluster, line)
    assert verified.out.count("is completed.") == 3


def test_waiting_ends_when_all_is_moved(alone: Stage) -> None:
    stage = alone
    stage.create("1:2,2:1")
    stage.fill()
    plan = stage.plan({0: [3, 2], 1: [3, 1]})
    told = stage.reassign(plan, "--execute --wait --throttle 5000000")
    assert (told.status, told.err) == (0, ""), told
    assert told.out.count("is completed.") == 2
    assert "Clearing topic-level throttles on topic" in told.out
    line = f"--verify --reassignment-json-file {plan}"
    verified = theirs(stage.jvm, tools.REASSIGN, stage.cluster, line)
    assert verified.out.count("is completed.") == 2


def test_leaders_are_elected_alike(play: Play, cluster: Cluster) -> None:
    def scene(stage: Stage) -> None:
        stage.create("3:1,3:2,1:2,3:1")
        cluster.stop_node(3)
        preferred = "--election-type preferred"
        stage.run(tools.ELECT, f"{preferred} --topic {stage.topic} --partition 2")
        away = stage.run(tools.ELECT, f"{preferred} --topic {stage.topic} --partition 0")
        assert away.status == 1
        cluster.start_node(3)
        cluster.await_in_sync(stage.topic)
        by_hand = f"--topic {stage.topic} --partition"
        stage.run(tools.ELECT, f"{preferred} {by_hand} 0")
        stage.run(tools.ELECT, f"{preferred} {by_hand} 0")
        stage.run(tools.ELECT, f"--election-type PREFERRED {by_hand} 7")
        stage.run(tools.ELECT, f"--election-type unclean {by_hand} 2")
        stage.run(tools.ELECT, f"{preferred} --topic {stage.topic}-none --partition 0")
        chosen = [{"topic": stage.topic, "partition": number} for number in (1, 2)]
        path = stage.file({"partitions": chosen})
        stage.run(tools.ELECT, f"{preferred} --path-to-json-file {path}")
        stage.run(tools.ELECT, f"{preferred} --all-topic-partitions")
        stage.run(tools.ELECT, f"{preferred} --all-topic-partitions")
        stage.look(tools.TOPICS, f"--describe --topic {stage.topic}")

    told = play(scene)
    assert "Successfully completed leader election (PREFERRED) for partitions T-3" in told
    assert "Valid replica already elected for partitions T-2" in told


@pytest.mark.parametrize(
    "line",
    [
        "",
        "--election-type preferred",
        "--election-type best --all-topic-partitions",
        "--all-topic-partitions",
        "--election-type preferred --topic t",
        "--election-type preferred --partition 0",
        "--election-type preferred --all-topic-partitions --topic t --partition 0",
        "--election-type preferred --path-to-json-file /none",
        "--election-type preferred --topic t --partition one",
        "--nonsense",
    ],
)
def test_elections_that_cannot_be_meant_are_refused_alike(
    jvm: Jvm, cluster: Cluster, line: str
) -> None:
    mine = ours(tools.ELECT, cluster, line)
    assert theirs(jvm, tools.ELECT, cluster, line).status == mine.status == 1
    assert (mine.out, mine.err.count("\n")) == ("", 1)


def test_log_directories_of_all_brokers_are_shown_alike(play: Play, cluster: Cluster) -> None:
    def scene(stage: Stage) -> None:
        stage.create("1:2,2:3,3:1")
        for chosen in ("", " --broker-list 3,1"):
            line = f"--describe --topic-list {stage.topic}{chosen}"
            found = stage.run(tools.LOG_DIRS, line)
            stage.said[-1] = tools.normal(found.out, cluster)

    assert play(scene).count("Received log directory information from brokers") == 2
