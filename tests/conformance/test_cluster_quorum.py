"""Apache Kafka's tools ask our controller, by its own listener and through brokers."""

from __future__ import annotations

import re

import pytest
from harness import transcript as tools
from harness.clusters import CONTROLLER_ID, NODES, BarnabasCluster
from harness.jvm import Jvm
from harness.transcript import run_step, step

QUORUM = "org.apache.kafka.tools.MetadataQuorumCommand"


@pytest.fixture(params=["broker", "controller"])
def place(request: pytest.FixtureRequest, barnabas_cluster: BarnabasCluster) -> str:
    """How a tool is told whom to ask."""
    if request.param == "broker":
        return "--bootstrap-server {bootstrap}"
    listener = barnabas_cluster.controller.settings["listeners"]
    return f"--bootstrap-controller {listener.removeprefix('CONTROLLER://')}"


def said(jvm: Jvm, barnabas_cluster: BarnabasCluster, tool: str, line: str) -> str:
    found = run_step(jvm, barnabas_cluster, step(tool, line))
    assert found.status == 0, found
    return found.out


def test_the_quorum_has_one_voter_and_the_brokers_observe(
    jvm: Jvm, barnabas_cluster: BarnabasCluster, place: str
) -> None:
    status = said(jvm, barnabas_cluster, QUORUM, f"{place} describe --status")
    rows = said(jvm, barnabas_cluster, QUORUM, f"{place} describe --replication").splitlines()[1:]

    assert re.search(rf"^LeaderId: +{CONTROLLER_ID}$", status, re.MULTILINE)
    roles = {int(row.split()[0]): row.split()[-1] for row in rows}
    assert roles == {CONTROLLER_ID: "Leader", **dict.fromkeys(NODES, "Observer")}


def test_features_are_told_alike_by_both(
    jvm: Jvm, barnabas_cluster: BarnabasCluster, place: str
) -> None:
    features = said(jvm, barnabas_cluster, tools.FEATURES, f"{place} describe")

    assert re.search(r"metadata\.version\s.*FinalizedVersionLevel: 4\.0-IV3", features)
    assert "transaction.version" in features


def test_endpoints_are_those_of_the_kind_that_was_asked(
    jvm: Jvm, barnabas_cluster: BarnabasCluster, place: str
) -> None:
    rows = said(jvm, barnabas_cluster, tools.CLUSTER, f"list-endpoints {place}").splitlines()[1:]

    asked_controller = "--bootstrap-controller" in place
    expected = {CONTROLLER_ID} if asked_controller else set(NODES)
    assert {int(row.split()[0]) for row in rows} == expected
    kind = "controller" if asked_controller else "broker"
    assert {row.split()[-1] for row in rows} == {kind}


def test_settings_can_be_changed_at_the_controller(
    jvm: Jvm, barnabas_cluster: BarnabasCluster
) -> None:
    listener = barnabas_cluster.controller.settings["listeners"].removeprefix("CONTROLLER://")
    asked = f"--bootstrap-controller {listener} --alter --entity-type brokers --entity-default"

    said(jvm, barnabas_cluster, tools.CONFIGS, f"{asked} --add-config log.retention.ms=12345678")

    everyone = "--bootstrap-server {bootstrap} --describe --entity-type brokers --entity-default"
    while "log.retention.ms=12345678" not in said(jvm, barnabas_cluster, tools.CONFIGS, everyone):
        pass  # each look is a round trip; the test's own time limit bounds it
