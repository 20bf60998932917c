from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, field

import pytest
from one_line import complaint

from barnabas.cli.main import run_tool
from barnabas.client.brokers import Place
from barnabas.client.cluster_admin import Endpoint
from barnabas.client.errors import ClientError, NotReachableError
from barnabas.client.replica_admin import LogDirectory, ReplicaAdmin, StoredReplica

Captured = pytest.CaptureFixture[str]


@dataclass(slots=True)
class FakeAdmin:
    asked: list[int] = field(default_factory=list)
    error: ClientError | None = None

    def __enter__(self) -> FakeAdmin:
        return self

    def __exit__(self, *_: object) -> None: ...

    def cluster(self) -> list[Endpoint]:
        return [
            Endpoint(node_id=number, host="h", port=number, rack=None, is_fenced=False)
            for number in (1, 2)
        ]

    def log_directories(
        self, broker_id: int, places: Collection[Place] | None = None
    ) -> list[LogDirectory]:
        if self.error is not None:
            raise self.error
        self.asked.append(broker_id)
        replicas = [
            StoredReplica(topic=topic, partition=number, size=5, offset_lag=1, is_future=False)
            for topic, number in (("b", 0), ("a", 10), ("a", 2))
        ]
        return [
            LogDirectory(path="/data", error=None, replicas=replicas),
            LogDirectory(path="/lost", error="KAFKA_STORAGE_ERROR", replicas=[]),
        ]


@pytest.fixture
def admin(monkeypatch: pytest.MonkeyPatch) -> FakeAdmin:
    fake = FakeAdmin()
    monkeypatch.setattr(ReplicaAdmin, "connect", lambda properties: fake)
    return fake


def run(line: str) -> int:
    return run_tool("kafka-log-dirs", "barnabas.cli.log_dirs", line.split())


def test_directories_are_one_line_of_json(admin: FakeAdmin, capsys: Captured) -> None:
    assert run("--describe --broker-list 2 --topic-list a") == 0
    assert capsys.readouterr().out == (
        "Querying brokers for log directories information\n"
        "Received log directory information from brokers 2\n"
        '{"brokers":[{"broker":2,"logDirs":[{"partitions":['
        '{"partition":"a-2","size":5,"offsetLag":1,"isFuture":false},'
        '{"partition":"a-10","size":5,"offsetLag":1,"isFuture":false}],'
        '"error":null,"logDir":"/data"},'
        '{"partitions":[],"error":"KAFKA_STORAGE_ERROR","logDir":"/lost"}]}],"version":1}\n'
    )


@pytest.mark.parametrize("line", ["--describe", "--describe --broker-list= --topic-list="])
def test_without_lists_all_are_meant(admin: FakeAdmin, capsys: Captured, line: str) -> None:
    assert run(line) == 0
    assert admin.asked == [1, 2]
    assert capsys.readouterr().out.count('"b-0"') == 2


def test_json_alone_is_a_whole_document(admin: FakeAdmin, capsys: Captured) -> None:
    assert run("--describe --json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["broker"] for each in found["brokers"]] == [1, 2]


def test_brokers_that_are_not_there_are_named(admin: FakeAdmin, capsys: Captured) -> None:
    assert run("--describe --broker-list 1,9,7") == 1
    found = capsys.readouterr()
    assert found.err == (
        "kafka-log-dirs: ERROR: The given brokers do not exist from --broker-list: 7,9. "
        "Current existent brokers: 1,2\n"
    )
    assert (found.out, admin.asked) == ("", [])


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "--describe is missing"),
        ("--describe --broker-list a", '--broker-list: "a" is not a list of broker ids'),
        ("--describe --brokers 1", "unknown option --brokers"),
    ],
)
def test_bad_wishes_are_one_line(admin: FakeAdmin, capsys: Captured, line: str, said: str) -> None:
    assert said in complaint(capsys, lambda: run(line))


@pytest.mark.parametrize("error", [NotReachableError("h:1"), ClientError("h:1: gone")])
def test_troubles_of_brokers_are_one_line(
    admin: FakeAdmin, capsys: Captured, error: ClientError
) -> None:
    admin.error = error
    assert run("--describe") == 1
    found = capsys.readouterr().err
    assert str(error) in found
    assert found.count("\n") == 1
