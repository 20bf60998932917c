"""Our tools for a cluster as a whole print what Apache Kafka's print of the same brokers."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import transcript as tools
from harness.apache import ApacheBroker, run_main
from harness.barnabas import BarnabasBroker
from harness.brokers import Broker
from harness.clusters import BarnabasCluster
from harness.jvm import Jvm
from harness.side_by_side import BIN, Outcome, ours, their_words, theirs

from barnabas.cli.tools import of_class

KINDS: dict[str, type[Broker]] = {"apache": ApacheBroker, "barnabas": BarnabasBroker}
QUORUM = "org.apache.kafka.tools.MetadataQuorumCommand"
CLUSTER_LINES = [
    "cluster-id",
    "list-endpoints",
    "list-endpoints --include-fenced-brokers",
]
FEATURE_LINES = [
    "describe",
    "upgrade --feature transaction.version=2",
    "upgrade --feature transaction.version=9",
    "upgrade --feature transaction.version=2 --feature group.version=9",
    "upgrade --feature eligible.leader.replicas.version=1 --dry-run",
    "upgrade --feature eligible.leader.replicas.version=1",
    "describe",
    "downgrade --feature eligible.leader.replicas.version=0 --dry-run",
    "downgrade --feature eligible.leader.replicas.version=0",
    "downgrade --feature metadata.version=22",
    "downgrade --feature metadata.version=22 --unsafe",
    "downgrade --feature transaction.version=1",
    "upgrade --feature transaction.version=2",
    "disable --feature group.version --dry-run",
    "disable --feature no.such.feature",
]
RELEASES = [
    *("3.3-IV3", "3.4-IV0", "3.5-IV1", "3.6", "3.7-IV4", "3.8", "3.9.1"),
    *("4.0-IV0", "4.0-IV1", "4.0-IV2", "4.0", "4.1-IV0", "4.1.0", "4.2-IV0", "4.2", "4.3"),
    *("4.4-IV0", "4.4", "3.2", "9.9", "4", "4.1-IV9", "soon"),
]
LEVELS = [
    *("metadata.version=7", "metadata.version=25", "metadata.version=31", "metadata.version=32"),
    *("kraft.version=1", "kraft.version=2", "transaction.version=2", "transaction.version=3"),
    *("group.version=0", "group.version=2", "share.version=1", "streams.version=1"),
    *("eligible.leader.replicas.version=1", "eligible.leader.replicas.version=0"),
    *("no.such.feature=1", "group.version", "group.version=x", "group.version=70000"),
]


def without_names(outcome: Outcome) -> tuple[int, str, list[str]]:
    """Status, what was printed, and errors without the name of our tool and without Java's."""
    errors = re.sub(r"(?m)^kafka-[\w-]+: ", "", outcome.err)
    errors = re.sub(r"(?m)^(\tat .*|\t\.\.\. .*|Caused by.*|java\..*|)\n", "", errors)
    errors = re.sub(r"org\.apache\.kafka\.common\.errors\.\w+: ", "", errors)
    return outcome.status, outcome.out, errors.splitlines()


@pytest.mark.parametrize("line", CLUSTER_LINES)
def test_a_cluster_is_shown_alike(jvm: Jvm, target: Broker, line: str) -> None:
    mine = ours(tools.CLUSTER, target, line)
    assert mine == theirs(jvm, tools.CLUSTER, target, line)
    assert mine.status == 0


def test_a_broker_that_is_not_registered_is_refused_alike(jvm: Jvm, target: Broker) -> None:
    line = "unregister --id 77"
    mine, java = ours(tools.CLUSTER, target, line), theirs(jvm, tools.CLUSTER, target, line)
    assert without_names(mine) == without_names(java)
    assert mine.status == 1


def test_requests_and_their_versions_are_shown_alike(jvm: Jvm, target: Broker) -> None:
    """But for the versions that are usable: theirs are those of the newest Java client."""
    mine, java = (
        ours(tools.API_VERSIONS, target, ""),
        theirs(jvm, tools.API_VERSIONS, target, ""),
    )
    usable = re.compile(r" \[(un)?usable: .*?\]")
    assert usable.sub("", mine.out) == usable.sub("", java.out)
    assert (mine.status, mine.err) == (0, "")
    assert mine.out.count("usable") > 40
    if target.name == "barnabas":
        assert mine.out == java.out


@pytest.mark.parametrize("line", ["--status", "--replication", "--replication --human-readable"])
def test_the_quorum_is_shown_alike(jvm: Jvm, target: Broker, line: str) -> None:
    mine, java = (
        moving(ours(QUORUM, target, f"describe {line}")),
        moving(theirs(jvm, QUORUM, target, f"describe {line}")),
    )
    assert mine == java
    assert mine.status == 0


def moving(outcome: Outcome) -> Outcome:
    """Without what changes from moment to moment: times, and the end of the metadata log."""
    text = re.sub(r"\d{13}|\d+ ms ago *", "TIME", outcome.out)
    text = re.sub(r"(HighWatermark: +)\d+", r"\1N", text)
    text = re.sub(r"(?m)^(\d+ *\t[\w-]{22}\t)\d+ *\t\d+ *\t", r"\1N\tN\t", text)
    return Outcome(status=outcome.status, out=text, err=outcome.err)


@pytest.fixture
def own(target: Broker, tmp_path: Path) -> Iterator[Broker]:
    """A broker of the target's kind that nobody else uses: features change settings for all."""
    broker = KINDS[target.name](tmp_path / "own")
    try:
        broker.start()
        yield broker
    finally:
        broker.discard()


def test_features_are_shown_and_changed_alike(jvm: Jvm, own: Broker) -> None:
    different = []
    for line in FEATURE_LINES:
        mine, java = (
            without_names(ours(tools.FEATURES, own, line)),
            without_names(theirs(jvm, tools.FEATURES, own, line)),
        )
        if later(mine) != later(java):
            different.append((line, mine, java))
    assert different == []


def later(said: tuple[int, str, list[str]]) -> tuple[int, str, list[str]]:
    """Whoever asks second sees a later epoch."""
    status, out, errors = said
    return status, re.sub(r"Epoch: \d+", "Epoch: N", out), errors


@pytest.mark.parametrize("release", RELEASES)
def test_features_of_releases_are_told_alike(jvm: Jvm, release: str) -> None:
    same_without_broker(jvm, f"version-mapping --release-version {release}")


@pytest.mark.parametrize("level", LEVELS)
def test_features_that_others_need_are_told_alike(jvm: Jvm, level: str) -> None:
    same_without_broker(jvm, f"feature-dependencies --feature {level}")


def same_without_broker(jvm: Jvm, line: str) -> None:
    mine = in_their_place(tools.FEATURES, line)
    run = jvm.tool(tools.FEATURES, *line.split())
    java = Outcome(status=run.status, out=run.out, err=run.err)
    assert without_names(mine) == without_names(java)


def in_their_place(main: str, line: str) -> Outcome:
    """Our tool with exactly these words."""
    tool = of_class(main)
    assert tool is not None
    run = subprocess.run(
        [BIN / tool.script, *line.split()],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return Outcome(status=run.returncode, out=run.stdout, err=run.stderr)


@pytest.mark.parametrize(
    ("main", "line"),
    [
        (tools.FEATURES, ""),
        (tools.FEATURES, "nonsense"),
        (tools.FEATURES, "upgrade"),
        (tools.FEATURES, "disable"),
        (tools.FEATURES, "upgrade --feature transaction.version"),
        (tools.FEATURES, "upgrade --feature transaction.version=x"),
        (tools.FEATURES, "upgrade --feature group.version=1 --feature group.version=0"),
        (tools.FEATURES, "upgrade --release-version 4.0 --feature group.version=1"),
        (tools.FEATURES, "upgrade --release-version 9.9"),
        (tools.FEATURES, "feature-dependencies"),
        (tools.FEATURES, "describe --nonsense"),
        (tools.API_VERSIONS, "--nonsense"),
        (QUORUM, ""),
        (QUORUM, "nonsense"),
        (QUORUM, "describe"),
        (QUORUM, "describe --status --replication"),
        (QUORUM, "describe --status --human-readable"),
    ],
)
def test_what_they_refuse_we_refuse(jvm: Jvm, target: Broker, main: str, line: str) -> None:
    mine, java = ours(main, target, line), theirs(jvm, main, target, line)
    assert (mine.status, java.status) == (1, 1)
    assert (mine.out, mine.err.count("\n")) == ("", 1)


@pytest.mark.parametrize("line", ["", "nonsense", "unregister", "unregister --id some"])
def test_a_wrong_command_for_the_cluster_is_refused(barnabas: Broker, line: str) -> None:
    """Theirs ends its whole JVM with such a line, and gets one of its own."""
    place = f"--bootstrap-server {barnabas.bootstrap}"
    java = run_main(tools.CLUSTER, their_words(tools.CLUSTER, place, line))
    mine = ours(tools.CLUSTER, barnabas, line)
    assert (mine.status, java.returncode) == (1, 1)
    assert (mine.out, mine.err.count("\n")) == ("", 1)


# Brokers and a controller that is a process of its own.


@pytest.fixture(params=["--bootstrap-server", "--bootstrap-controller"])
def place(request: pytest.FixtureRequest, barnabas_cluster: BarnabasCluster) -> str:
    listener = barnabas_cluster.controller.settings["listeners"].removeprefix("CONTROLLER://")
    address = barnabas_cluster.bootstrap if request.param == "--bootstrap-server" else listener
    return f"{request.param} {address}"


@pytest.mark.parametrize(
    ("main", "line"),
    [
        (tools.CLUSTER, "cluster-id"),
        (tools.CLUSTER, "list-endpoints"),
        (tools.FEATURES, "describe"),
        (QUORUM, "describe --status"),
        (QUORUM, "describe --replication"),
        (tools.CONFIGS, "--alter --broker-defaults --add-config log.retention.ms=12345678"),
        (tools.CONFIGS, "--alter --broker-defaults --delete-config log.retention.ms"),
    ],
)
def test_brokers_and_controllers_are_asked_alike(
    jvm: Jvm, place: str, main: str, line: str
) -> None:
    run = jvm.tool(main, *their_words(main, place, line))
    java = moving(Outcome(status=run.status, out=run.out, err=run.err))
    mine = moving(in_their_place(main, " ".join(their_words(main, place, line))))
    assert sorted(mine.out.splitlines()) == sorted(java.out.splitlines())
    assert (mine.status, mine.err, java.status) == (0, "", 0)


@pytest.mark.parametrize("main", [tools.FEATURES, QUORUM])
def test_the_wrong_kind_of_listener_is_named(barnabas_cluster: BarnabasCluster, main: str) -> None:
    listener = barnabas_cluster.controller.settings["listeners"].removeprefix("CONTROLLER://")
    command = "describe" if main == tools.FEATURES else "describe --status"
    as_broker = in_their_place(main, f"--bootstrap-server {listener} {command}")
    first = barnabas_cluster.bootstrap.partition(",")[0]
    as_controller = in_their_place(main, f"--bootstrap-controller {first} {command}")
    for mine in (as_broker, as_controller):
        assert (mine.status, mine.out, mine.err.count("\n")) == (1, "", 1)
    assert listener in as_broker.err
    assert "controller" in as_controller.err
