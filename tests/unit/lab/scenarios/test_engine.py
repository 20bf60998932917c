"""Runs that cannot come to their end are results like all others."""

from __future__ import annotations

from pathlib import Path
from typing import Self

import pytest

from barnabas.client.errors import ClientError
from barnabas.lab.cluster.base import Cluster
from barnabas.lab.cluster.process import DidNotStart
from barnabas.lab.scenarios import engine
from barnabas.lab.scenarios.catalogue import all_scenarios
from barnabas.lab.scenarios.result import Result


class EmptyCluster(Cluster):
    """Nobody is in it; it starts unless it is told why not."""

    def __init__(self, refusal: Exception | None = None) -> None:
        super().__init__()
        self._refusal = refusal

    def __enter__(self) -> Self:
        if self._refusal is not None:
            raise self._refusal
        self.relays.start()
        return self

    @property
    def bootstrap(self) -> str:
        return "127.0.0.1:1"

    def addresses(self) -> dict[int, tuple[str, int]]:
        return {}


def result_of(monkeypatch: pytest.MonkeyPatch, folder: Path, cluster: Cluster) -> Result:
    monkeypatch.setattr(engine, "_cluster", lambda scenario, bootstrap: cluster)
    return engine.run(all_scenarios()["2.2a"], folder=folder, stream=None).result


@pytest.mark.parametrize("kind", [DidNotStart, TimeoutError])
def test_a_cluster_that_does_not_start_is_a_failure_and_not_the_end_of_all_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: type[Exception]
) -> None:
    found = result_of(monkeypatch, tmp_path, EmptyCluster(kind("broker-1 did not start:\nwhy\n")))

    assert found.failure == "broker-1 did not start:\nwhy"
    assert not found.predicted


@pytest.mark.parametrize("fails", ["the play", "the verdict"])
def test_what_a_play_or_its_verdict_cannot_do_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fails: str
) -> None:
    def refuse(stage: object) -> None:
        raise ClientError(f"{fails} got no answer")

    if fails == "the play":
        monkeypatch.setattr(engine, "play_of", lambda scenario: refuse)
    else:
        monkeypatch.setattr(engine, "play_of", lambda scenario: lambda stage: None)
        monkeypatch.setattr(engine, "_verdict", refuse)

    assert result_of(monkeypatch, tmp_path, EmptyCluster()).failure == f"{fails} got no answer"


def test_somebody_elses_cluster_that_is_not_there_is_for_who_named_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(ClientError, match="nobody there"):
        result_of(monkeypatch, tmp_path, EmptyCluster(ClientError("nobody there")))


@pytest.mark.parametrize("refuses", [False, True])
@pytest.mark.parametrize("bootstrap", [None, "somebody:9092"])
def test_what_a_run_made_in_somebody_elses_cluster_is_removed_or_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, bootstrap: str | None, refuses: bool
) -> None:
    cluster = EmptyCluster()
    cluster.topics += ["one", "aside"]
    removed: list[str] = []

    def remove(what: str) -> None:
        if refuses:
            raise ClientError("not you")
        removed.append(what)

    monkeypatch.setattr(engine, "_cluster", lambda scenario, bootstrap: cluster)
    monkeypatch.setattr(engine, "play_of", lambda scenario: lambda stage: None)
    monkeypatch.setattr(engine, "delete_group", lambda eyes, group: remove(group))
    monkeypatch.setattr(cluster.eyes, "delete_topics", lambda names: [*map(remove, names)])

    run = engine.run(all_scenarios()["2.2a"], folder=tmp_path, stream=None, bootstrap=bootstrap)

    stay = [mark.text for mark in run.timeline.marks if mark.text.endswith(" stays: not you")]
    if bootstrap is None:
        assert (removed, stay) == ([], [])
    elif refuses:
        assert [text.split()[0] for text in stay] == ["group", "topic", "topic"]
    else:
        assert removed[0].endswith("-readers")
        assert removed[1:] == ["one", "aside"]
        assert stay == []
