from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

from barnabas.cli.command import CommandError
from barnabas.cli.main import run_tool
from barnabas.cli.options import Parsed, parse
from barnabas.cli.replica_verification import COMMAND, included, marks, tell_troubles, verify
from barnabas.client.brokers import PartitionPlace, Place
from barnabas.client.replica_reader import ReplicaData
from barnabas.records.batch import Record, encode_batch
from barnabas.records.header import batch_crc

Captured = pytest.CaptureFixture[str]
P = ("t", 0)


def words(line: str) -> Parsed:
    return parse(COMMAND.options, line.split())


def batch(offset: int, value: bytes = b"v") -> bytes:
    return bytes(encode_batch([Record(timestamp=1, value=value)], base_offset=offset))


@pytest.mark.parametrize(
    ("line", "yes", "no"),
    [
        ("", "anything", None),
        ("--topics-include ord.*", "orders", "borders"),
        ("--topic-white-list a,b", "b", "a,b"),
        ("--topics-include 'a.*'", "ab", "'ab'"),
    ],
)
def test_topics_are_chosen_as_apache_kafka_chooses_them(
    line: str, yes: str, no: str | None
) -> None:
    pattern = included(words(line))

    assert pattern.fullmatch(yes)
    assert no is None or not pattern.fullmatch(no)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("--topics-include [", '--topics-include: "[" is not a regular expression'),
        ("--fetch-size 0", "--fetch-size: 0 is out of range: at least 1"),
        ("--time yesterday", '--time: "yesterday" is not a whole number'),
        ("--report-interval-ms -1", "--report-interval-ms: -1 is out of range"),
        ("--broker-list :", "--bootstrap-server"),
        ("--once", "unknown option --once"),
    ],
)
def test_a_wrong_command_line_is_one_line(capsys: Captured, line: str, reason: str) -> None:
    status = run_tool("verify", "barnabas.cli.replica_verification", line.split())

    out, err = capsys.readouterr()
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert reason in err


def test_checksums_are_those_of_the_bytes_not_of_the_header() -> None:
    good, bad = batch(3), bytearray(batch(3))
    bad[-1] ^= 1
    half = batch(4)[:-1]

    found = marks(
        {
            P: {
                1: ReplicaData(high_watermark=9, records=good + half),
                2: ReplicaData(records=bytes(bad)),
            }
        }
    )

    (one,) = found[P][1].batches
    (other,) = found[P][2].batches
    assert (one.last_offset, one.checksum) == (3, batch_crc(good))
    assert (other.last_offset, other.checksum) == (3, batch_crc(bytes(bad)))
    assert found[P][1].high_watermark == 9
    assert one != other


def test_a_replica_that_cannot_be_read_is_told_once(capsys: Captured) -> None:
    told: set[str] = set()
    data = {P: {1: ReplicaData(), 2: ReplicaData(error="gone")}}

    tell_troubles(data, told)
    tell_troubles(data, told)

    assert capsys.readouterr().err == "warning: replica 2 of t-0: gone\n"


class FakeReader:
    """Two replicas of one partition, which answer from a list, and then are interrupted."""

    def __init__(self, *rounds: tuple[bytes, bytes]) -> None:
        self.places = {P: PartitionPlace(leader=1, replicas=(1, 2))}
        self.rounds = list(rounds)
        self.asked: list[tuple[Mapping[Place, int], int, int]] = []

    def offsets(self, places: list[Place], time_ms: int) -> dict[Place, int]:
        return dict.fromkeys(places, 10 if time_ms == -1 else 0)

    def fetch(
        self, offsets: Mapping[Place, int], *, max_bytes: int, max_wait_ms: int
    ) -> dict[Place, dict[int, ReplicaData]]:
        if not self.rounds:
            raise KeyboardInterrupt
        self.asked.append((dict(offsets), max_bytes, max_wait_ms))
        answers = self.rounds.pop(0)
        return {
            P: {
                number: ReplicaData(high_watermark=12, records=records)
                for number, records in enumerate(answers, start=1)
            }
        }


def said(capsys: Captured) -> list[str]:
    """Lines without the time in front of each."""
    time = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}: "
    return [re.sub(f"^{time}", "", line) for line in capsys.readouterr().out.splitlines()]


def test_it_reports_until_it_is_interrupted(capsys: Captured) -> None:
    same = batch(10) + batch(11)
    reader: Any = FakeReader((same, batch(10)), (batch(11), batch(11)))

    with pytest.raises(KeyboardInterrupt):
        verify(reader, ["t"], words("--report-interval-ms 0 --fetch-size 5"), start_ms=-1)

    assert said(capsys) == [
        "verification process is started",
        "max lag is 1 for partition [t,0] at offset 11 among 1 partitions",
        "max lag is 0 for partition [t,0] at offset 12 among 1 partitions",
    ]
    assert reader.asked == [({P: 10}, 5, 1000), ({P: 11}, 5, 1000)]


def test_different_checksums_are_told_and_it_goes_on(capsys: Captured) -> None:
    reader: Any = FakeReader((batch(10), batch(10, b"w")))

    with pytest.raises(KeyboardInterrupt):
        verify(reader, ["t"], words(""), start_ms=-1)

    assert said(capsys)[1].startswith(
        "partition [t,0] has unmatched checksum at offset 10; replica 1's checksum "
    )


def test_different_offsets_end_it(capsys: Captured) -> None:
    reader: Any = FakeReader((batch(10), batch(11)))

    with pytest.raises(CommandError, match="the replicas of t-0 differ"):
        verify(reader, ["t"], words(""), start_ms=-1)

    assert said(capsys)[1] == (
        "partition [t,0]: replica 1's offset 10 doesn't match replica 2's offset 11"
    )
