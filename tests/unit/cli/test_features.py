from __future__ import annotations

import json
from typing import Any

import pytest
from fake_brokers import FakeCluster, install

from barnabas.cli.features import COMMAND, check, levels_asked
from barnabas.cli.main import run_tool
from barnabas.cli.options import UsageError, parse
from barnabas.protocol.messages import api_versions, update_features

Captured = pytest.CaptureFixture[str]


def run(line: str) -> int:
    words = f"--bootstrap-server h:1 {line}".split()
    return run_tool("kafka-features", "barnabas.cli.features", words)


def levels(line: str) -> dict[str, int]:
    args = parse(COMMAND.options, line.split(), words=COMMAND.words)
    return levels_asked(check(args), args)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    made = install(monkeypatch)
    supported = api_versions.SupportedFeatureKey
    finalized = api_versions.FinalizedFeatureKey
    made.respond[api_versions.ApiVersionsRequest] = lambda broker, request: (
        api_versions.ApiVersionsResponse(
            supported_features=[
                supported(name="metadata.version", min_version=7, max_version=99),
                supported(name="group.version", max_version=1),
            ],
            finalized_features=[finalized(name="metadata.version", max_version_level=25)],
            finalized_features_epoch=41,
        )
    )
    made.respond[update_features.UpdateFeaturesRequest] = updated
    return made


def updated(broker: int, request: Any) -> update_features.UpdateFeaturesResponse:
    bad = any(each.max_version_level > 30 for each in request.feature_updates)
    return update_features.UpdateFeaturesResponse(
        error_code=95 if bad else 0, error_message="too high" if bad else None
    )


def test_features_are_shown_by_the_names_of_their_levels(
    cluster: FakeCluster, capsys: Captured
) -> None:
    assert run("describe") == 0
    group, metadata = capsys.readouterr().out.splitlines()
    assert metadata == (
        "Feature: metadata.version                          "
        "SupportedMinVersion: 3.3-IV3          SupportedMaxVersion: UNKNOWN [99]     "
        "FinalizedVersionLevel: 4.0-IV3          Epoch: 41"
    )
    assert group.split() == [
        *("Feature:", "group.version", "SupportedMinVersion:", "0"),
        *("SupportedMaxVersion:", "1", "FinalizedVersionLevel:", "0", "Epoch:", "41"),
    ]
    assert run("describe --json") == 0
    assert json.loads(capsys.readouterr().out)[1] == {
        "feature": "metadata.version",
        "supported_min_version": 7,
        "supported_max_version": 99,
        "finalized_version_level": 25,
        "epoch": 41,
    }


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("upgrade --feature a=1 --feature b=2", {"a": 1, "b": 2}),
        ("upgrade --metadata 4.0", {"metadata.version": 25}),
        ("disable --feature a --feature b", {"a": 0, "b": 0}),
        (
            "upgrade --release-version 4.0",
            {
                "metadata.version": 25,
                "kraft.version": 1,
                "transaction.version": 2,
                "group.version": 1,
            },
        ),
        (
            "downgrade --release-version 3.8",
            {
                "metadata.version": 20,
                "kraft.version": 0,
                "transaction.version": 0,
                "group.version": 0,
                "eligible.leader.replicas.version": 0,
                "share.version": 0,
                "streams.version": 0,
            },
        ),
    ],
)
def test_levels_are_what_was_typed_or_what_a_release_has(line: str, found: dict[str, int]) -> None:
    assert levels(line) == found


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("", "a command is needed"),
        ("nonsense", '"nonsense" is not a command'),
        ("upgrade", "You must specify at least one feature to upgrade"),
        ("upgrade --feature a", "Can't parse feature=level string a: equals sign not found."),
        ("upgrade --feature a=x", "unable to parse x as a short."),
        ("upgrade --feature a=-1", "unable to parse -1 as a short."),
        ("upgrade --feature a=1 --feature a=2", "Feature a was specified more than once."),
        ("upgrade --release-version 4.0 --feature a=1", "--release-version cannot be used with"),
        ("upgrade --release-version 9.9", "Unknown metadata.version '9.9'."),
        ("upgrade --unsafe --feature a=1", "--unsafe cannot be used with upgrade"),
        ("describe --feature a=1", "--feature cannot be used with describe"),
        ("feature-dependencies", "--feature is missing"),
    ],
)
def test_what_cannot_be_meant_is_said(line: str, complaint: str) -> None:
    with pytest.raises(UsageError) as caught:
        levels(line)
    assert complaint in str(caught.value)


@pytest.mark.parametrize(
    ("line", "kind", "said"),
    [
        ("upgrade --feature a=1", 1, "a was upgraded to 1."),
        ("upgrade --feature a=1 --dry-run", 1, "a can be upgraded to 1."),
        ("downgrade --feature a=1", 2, "a was downgraded to 1."),
        ("downgrade --feature a=1 --unsafe", 3, "a was downgraded to 1."),
        ("disable --feature a --dry-run", 2, "a can be disabled."),
    ],
)
def test_a_change_is_confirmed(
    cluster: FakeCluster, capsys: Captured, line: str, kind: int, said: str
) -> None:
    assert run(line) == 0
    assert capsys.readouterr() == (f"{said}\n", "")
    ((_, request),) = cluster.sent(update_features.UpdateFeaturesRequest)
    assert request.validate_only == ("--dry-run" in line)
    assert [each.upgrade_type for each in request.feature_updates] == [kind]


def test_what_failed_is_said_of_each_and_of_all(cluster: FakeCluster, capsys: Captured) -> None:
    assert run("upgrade --feature b=99 --feature a=1") == 1
    assert capsys.readouterr() == (
        "Could not upgrade a to 1. too high\nCould not upgrade b to 99. too high\n",
        "kafka-features: 2 out of 2 operation(s) failed.\n",
    )
    assert run("downgrade --feature b=99 --dry-run") == 1
    assert capsys.readouterr().out == "Can not downgrade b to 99. too high\n"


def test_of_a_release_what_the_cluster_does_not_know_is_left_out(
    cluster: FakeCluster, capsys: Captured
) -> None:
    assert run("upgrade --release-version 4.0") == 0
    said = capsys.readouterr()
    assert said.out == "group.version was upgraded to 1.\nmetadata.version was upgraded to 25.\n"
    assert said.err.splitlines() == [
        "warning: kraft.version is not known to this cluster and is left out",
        "warning: transaction.version is not known to this cluster and is left out",
    ]


def test_releases_and_dependencies_are_told_without_a_broker(capsys: Captured) -> None:
    words = ["version-mapping", "--release-version", "3.9"]
    assert run_tool("kafka-features", "barnabas.cli.features", words) == 0
    assert capsys.readouterr().out.startswith("metadata.version=21 (3.9)\nkraft.version=1\n")
    feature = "eligible.leader.replicas.version=1"
    words = ["feature-dependencies", "--feature", feature, "--feature", "group.version=1"]
    assert run_tool("kafka-features", "barnabas.cli.features", words) == 0
    assert capsys.readouterr().out == (
        f"{feature} requires:\n    metadata.version=23 (4.0-IV1)\n"
        "group.version=1 has no dependencies.\n"
    )
