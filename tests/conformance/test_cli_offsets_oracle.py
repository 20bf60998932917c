"""Our tools for offsets, deleted records and log directories print what Apache Kafka's print.

Each test runs both against Apache Kafka and against Barnabas.  What differs on purpose is undone
before comparing: errors have no names of Java's classes, and what Java keeps in hash tables is
sorted here.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from harness import transcript as tools
from harness.brokers import Broker
from harness.clients import JavaClient, Record
from harness.jvm import Jvm
from harness.side_by_side import JAVA_NOISE, Outcome, ours, theirs

PARTITIONS = 11
FIRST_MS = 1_700_000_000_000


@pytest.fixture(scope="module")
def filled(jvm: Jvm, target: Broker, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A topic whose partitions have as many records as their number says, a second apart; of
    partition 10 the first four are deleted.
    """
    topic = f"offsets-of-{target.name}"
    client = JavaClient(jvm, target)
    client.create_topic(topic, partitions=PARTITIONS, retention_ms="-1")
    for number in range(1, PARTITIONS):
        client.produce(topic, records(number, number))
    path = tmp_path_factory.mktemp("filled") / "offsets.json"
    assert delete("java", jvm, target, path, [(topic, 10, 4)]).status == 0
    return topic


def records(count: int, partition: int) -> list[Record]:
    return [
        Record(
            key=None,
            value=b"v",
            headers=(),
            timestamp=FIRST_MS + 1000 * at,
            partition=partition,
        )
        for at in range(count)
    ]


@pytest.mark.parametrize(
    "line",
    [
        "--topic {t}",
        "--topic {t} --time -1",
        "--topic {t} --time latest",
        "--topic {t} --time -2",
        "--topic {t} --time earliest",
        "--topic {t} --time -3",
        "--topic {t} --time max-timestamp",
        "--topic {t} --time -4",
        "--topic {t} --time earliest-local",
        "--topic {t} --time -5",
        "--topic {t} --time latest-tiered",
        "--topic {t} --time 1700000003000",
        "--topic {t} --time 1700000002500",
        "--topic {t} --time 1700000099000",
        "--topic {t} --time 0",
        "--topic {t} --partitions 0,10,2",
        "--topic {t} --partitions 99",
        "--topic {t},none",
        "--topic off.*-of-.* --partitions 3",
        "--topic-partitions {t}:3",
        "--topic-partitions {t}:3-6",
        "--topic-partitions {t}:9-",
        "--topic-partitions {t}:-2",
        "--topic-partitions {t}:",
        "--topic-partitions {t}:1,{t}:4-5,none:3",
        "--topic-partitions none",
        "--topic {t} --exclude-internal-topics",
        "--topic __none --exclude-internal-topics",
        "--topic-partitions {t}:1:2",
        "--topic-partitions {t}:x",
        "--topic {t} --topic-partitions {t}",
        "--topic {t} --partitions one",
        "--topic {t} --time soon",
        "--topic [x",
        "--nonsense",
    ],
)
def test_offsets_are_told_alike(jvm: Jvm, target: Broker, filled: str, line: str) -> None:
    words = line.format(t=filled)
    mine, java = (
        ours(tools.GET_OFFSETS, target, words),
        theirs(jvm, tools.GET_OFFSETS, target, words),
    )
    assert (mine.status, mine.out) == (java.status, java.out)
    assert mine.err.count("\n") == mine.status, "one line, if anything is wrong"


def delete(
    run: str, jvm: Jvm, target: Broker, path: Path, wishes: list[tuple[str, int, int]]
) -> Outcome:
    partitions = [{"topic": t, "partition": p, "offset": o} for t, p, o in wishes]
    path.write_text(json.dumps({"version": 1, "partitions": partitions}))
    line = f"--offset-json-file {path}"
    if run == "ours":
        return ours(tools.DELETE_RECORDS, target, line)
    return theirs(jvm, tools.DELETE_RECORDS, target, line)


def test_records_are_deleted_alike(jvm: Jvm, target: Broker, topic: str, tmp_path: Path) -> None:
    """First some, then too many and none, then all; each time both show where a log begins."""
    client = JavaClient(jvm, target)
    told = {}
    for run in ("ours", "java"):
        name = f"{topic[-40:]}-{run}"
        client.create_topic(name, partitions=3, retention_ms="-1")
        for number in range(3):
            client.produce(name, records(9, number))
        path = tmp_path / "offsets.json"
        outcomes = [
            delete(run, jvm, target, path, [(name, 2, 4), (name, 0, 1)]),
            delete(run, jvm, target, path, [(name, 0, 100), (name, 1, 0), (name, 2, 4)]),
            delete(run, jvm, target, path, [(name, number, -1) for number in range(3)]),
            delete(run, jvm, target, path, []),
        ]
        told[run] = [sorted(_plain(each, name)) for each in outcomes]
        assert [each.status for each in outcomes] == [0, 1 if run == "ours" else 0, 0, 0]

    assert told["ours"] == told["java"]
    assert "partition: T-0\tlow_watermark: 9" in told["ours"][2]


REASON = re.compile(r"(?m)(\terror: ).*")


def _plain(outcome: Outcome, topic: str) -> list[str]:
    """What was refused is the same; why is said in the words of each broker and client."""
    return REASON.sub(r"\1WHY", outcome.out).replace(topic, "T").splitlines()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "{}",
        '{"version": 2, "partitions": []}',
        '{"partitions": {}}',
        '{"partitions": [{"topic": "t", "partition": 0}]}',
        '{"partitions": [{"topic": "t", "partition": "0", "offset": 1}]}',
        json.dumps({"partitions": [{"topic": "t", "partition": 0, "offset": 1}] * 2}),
    ],
)
def test_files_that_are_refused_are_refused_alike(
    jvm: Jvm, target: Broker, tmp_path: Path, text: str
) -> None:
    path = tmp_path / "offsets.json"
    path.write_text(text)
    line = f"--offset-json-file {path}"
    mine, java = (
        ours(tools.DELETE_RECORDS, target, line),
        theirs(jvm, tools.DELETE_RECORDS, target, line),
    )
    assert (mine.status, mine.out) == (java.status, java.out) == (1, "")
    assert mine.err.count("\n") == 1


@pytest.mark.parametrize("line", ["", "--offset-json-file /none/offsets.json", "--nonsense"])
def test_command_lines_without_a_file_are_refused_alike(
    jvm: Jvm, target: Broker, line: str
) -> None:
    mine, java = (
        ours(tools.DELETE_RECORDS, target, line),
        theirs(jvm, tools.DELETE_RECORDS, target, line),
    )
    assert (mine.status, java.status, mine.err.count("\n")) == (1, 1, 1)


@pytest.mark.parametrize(
    "line",
    [
        "--describe",
        "--describe --topic-list {t}",
        "--describe --topic-list {t},none --broker-list 1",
        "--describe --topic-list none",
        "--describe --broker-list 1,7,9",
    ],
)
def test_log_directories_are_shown_alike(jvm: Jvm, target: Broker, filled: str, line: str) -> None:
    words = line.format(t=filled)
    mine, java = ours(tools.LOG_DIRS, target, words), theirs(jvm, tools.LOG_DIRS, target, words)

    assert tools.normal(mine.out, target) == tools.normal(java.out, target)
    assert _keys(mine.out) == _keys(java.out), "fields are in the same order"
    said = JAVA_NOISE.sub("", java.err).splitlines()
    assert (mine.status, mine.err) == (java.status, "".join(f"kafka-log-dirs: {x}\n" for x in said))


def _keys(out: str) -> list[str]:
    return re.findall(r'"(\w+)":', out)


@pytest.mark.parametrize("line", ["", "--describe --broker-list one", "--describe --nonsense"])
def test_directories_of_what_cannot_be_meant_are_refused_alike(
    jvm: Jvm, target: Broker, line: str
) -> None:
    mine, java = ours(tools.LOG_DIRS, target, line), theirs(jvm, tools.LOG_DIRS, target, line)
    assert (mine.status, java.status, mine.err.count("\n")) == (1, 1, 1)
