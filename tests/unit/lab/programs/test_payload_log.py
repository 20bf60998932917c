"""Payload logs survive what records hold and what happens to their writers."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.lab.programs.payload_log import (
    PayloadError,
    PayloadLine,
    PayloadLog,
    in_order,
    key_text,
    parse,
    read_lines,
    value_text,
)
from barnabas.lab.programs.quotations import QUOTATIONS, quotation


@pytest.mark.parametrize("value", QUOTATIONS)
def test_a_quotation_stands_in_the_log_as_it_is(value: str) -> None:
    line = PayloadLine("t", 3, "17", value_text(value.encode()))

    assert str(line) == f"t,3,17,{value}"
    assert parse(str(line)) == line


def test_there_are_many_quotations_with_all_that_breaks_lesser_logs() -> None:
    assert len(set(QUOTATIONS)) == len(QUOTATIONS) >= 100
    for mark in (",", '"', " - ", "'"):
        assert any(mark in each for each in QUOTATIONS), mark
    assert quotation(len(QUOTATIONS) + 1) == QUOTATIONS[1]


data = st.none() | st.binary(max_size=30) | st.text(max_size=30).map(str.encode)


@given(key=data, value=data)
def test_any_record_is_one_line_that_reads_back(key: bytes | None, value: bytes | None) -> None:
    line = PayloadLine("t", 0, key_text(key), value_text(value))

    assert "\n" not in str(line)
    assert parse(str(line)) == line


def test_a_value_is_as_it_is_but_for_the_ends_of_lines() -> None:
    assert value_text(b'{"path": "C:\\\\x"}') == '{"path": "C:\\\\x"}'
    assert value_text(b"two\nlines\r") == "two\\nlines\\r"
    assert value_text(b"\xff") == "\\xff"
    assert value_text(None) == ""
    assert key_text(b"a,b") == "a\\x2cb"


@pytest.mark.parametrize("line", ["", "t,0,1", "t,zero,1,v", "t,-1,1,v", "no commas here"])
def test_other_lines_are_refused(line: str) -> None:
    with pytest.raises(PayloadError, match="not a line"):
        parse(line)


def test_a_wrong_line_is_named_by_file_and_number(tmp_path: Path) -> None:
    path = tmp_path / "payload.log"
    path.write_text("t,0,1,v\nnonsense\n")

    with pytest.raises(PayloadError, match=r"payload\.log:2: not a line"):
        list(read_lines(path))


def test_lines_are_there_after_a_flush_and_those_of_earlier_runs_stay(tmp_path: Path) -> None:
    path = tmp_path / "made" / "payload.log"
    for key in (b"1", b"2"):
        with PayloadLog(path) as log:
            log.add("t", 0, key, b"a, b")
            log.flush()
            assert [line.key for line in read_lines(path)][-1] == key.decode()

    assert path.read_text() == "t,0,1,a, b\nt,0,2,a, b\n"
    with PayloadLog(path, truncate=True):
        assert path.read_text() == ""


@pytest.mark.parametrize("torn", ["t,0,9,ha", "x" * 10_000])
def test_what_a_killed_writer_left_of_a_line_is_no_record(tmp_path: Path, torn: str) -> None:
    path = tmp_path / "payload.log"
    path.write_text(f"t,0,1,v\n{torn}")

    assert list(read_lines(path)) == [PayloadLine("t", 0, "1", "v")]
    with PayloadLog(path) as log:
        log.add("t", 0, b"2", b"v")
    assert path.read_text() == "t,0,1,v\nt,0,2,v\n"


def test_a_log_that_is_only_a_torn_line_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "payload.log"
    path.write_text("t,0")

    with PayloadLog(path):
        pass
    assert path.read_text() == ""


def test_lines_sort_by_partition_then_by_number() -> None:
    lines = [
        PayloadLine("t", 1, "2", ""),
        PayloadLine("t", 0, "10", ""),
        PayloadLine("t", 0, "9", ""),
    ]

    assert [(line.partition, line.key) for line in in_order(lines)] == [
        (0, "9"),
        (0, "10"),
        (1, "2"),
    ]
