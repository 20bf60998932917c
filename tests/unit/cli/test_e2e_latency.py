from __future__ import annotations

import random
from typing import Any

import pytest

from barnabas.cli.command import CommandError
from barnabas.cli.e2e_latency import COMMAND, Shape, measure, named, record, shape_of
from barnabas.cli.main import run_tool
from barnabas.cli.options import Parsed, parse
from barnabas.cli.perf_round_trips import OutRecord, check

Captured = pytest.CaptureFixture[str]
ENOUGH = "--topic t --num-records 10 --producer-acks 1 --record-size 5"


def words(line: str) -> Parsed:
    return parse(COMMAND.options, line.split(), words=COMMAND.words)


def test_plain_words_stand_for_options(capsys: Captured) -> None:
    args = named(words("b:1 t 10 all 5 client.properties"))

    assert args.text("bootstrap-server") == "b:1"
    assert args.text("command-config") == "client.properties"
    assert (args.text("topic"), args.number("num-records")) == ("t", 10)
    assert capsys.readouterr().err.startswith("warning: plain words are of older notes: use ")


def test_records_have_the_shape_that_is_asked_for() -> None:
    shape = shape_of(
        words(
            f"{ENOUGH} --record-key-size 2 --num-headers 2 --record-header-key-size 3 "
            "--record-header-size -1"
        )
    )
    made = record(shape, random.Random(0))

    assert (len(made.value), len(made.key or b"")) == (5, 2)
    assert [(len(key), value) for key, value in made.headers] == [(3, None)] * 2
    assert record(shape_of(words(ENOUGH)), random.Random(0)).key is None
    assert shape_of(words(ENOUGH)) == Shape(value_bytes=5)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("", "--topic is missing"),
        ("--topic t --num-records 10 --producer-acks 1", "--record-size is missing"),
        ("b:1 t 10 all", "4 words; expected bootstrap-server"),
        ("b:1 t 10 all 5 file more", 'unexpected argument "more"'),
        ("b:1 t 10 2 5", '--producer-acks: "2" is not one of 1, all'),
        ("b:1 t many 1 5", '--num-records: "many" is not a whole number'),
        ("b:1 t 10 1 5 --topic x", "either options, or nothing but words"),
        (f"{ENOUGH} --record-header-size -2", "--record-header-size: -2 is out of range"),
        (f"{ENOUGH} --command-config /no/file", "--command-config: cannot read /no/file"),
        (f"{ENOUGH} --speed", "unknown option --speed"),
    ],
)
def test_a_wrong_command_line_is_one_line(capsys: Captured, line: str, reason: str) -> None:
    status = run_tool("e2e", "barnabas.cli.e2e_latency", line.split())

    out, err = capsys.readouterr()
    told = [each for each in err.splitlines() if not each.startswith("warning: ")]
    assert (status, out, len(told)) == (1, "", 1)
    assert reason in told[0]


class FakeTrips:
    """Each record takes two milliseconds."""

    def __init__(self) -> None:
        self.sent: list[OutRecord] = []

    def trip(self, out: OutRecord) -> int:
        self.sent.append(out)
        return 2_000_000


def test_every_thousandth_record_is_told_and_all_in_the_end(capsys: Captured) -> None:
    trips: Any = FakeTrips()

    measure(trips, Shape(value_bytes=3), 1_001)

    assert len(trips.sent) == 1_001
    assert capsys.readouterr().out.splitlines() == [
        "0\t2.0",
        "1000\t2.0",
        "Avg latency: 2.0000 ms",
        "Percentiles: 50th = 2, 99th = 2, 99.9th = 2",
    ]


class Got:
    def value(self) -> bytes:
        return b"v"

    def key(self) -> bytes | None:
        return None

    def headers(self) -> list[tuple[str, bytes]] | None:
        return None


@pytest.mark.parametrize(
    ("sent", "what"),
    [
        (OutRecord(value=b"other"), "value"),
        (OutRecord(value=b"v", key=b"k"), "key"),
        (OutRecord(value=b"v", headers=[("h", b"1")]), "headers"),
    ],
)
def test_a_record_that_comes_back_changed_is_an_error(sent: OutRecord, what: str) -> None:
    check(OutRecord(value=b"v"), Got())
    with pytest.raises(CommandError, match=f"the {what} of the record read"):
        check(sent, Got())
