from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.cli.line_reader import (
    InputRecord,
    LineError,
    LineFormat,
    LineSplitter,
    line_format,
    shown,
)
from barnabas.cli.options import UsageError

BOTH = {"parse.key": "true", "parse.headers": "true"}


def reader(**properties: str) -> LineFormat:
    warnings: list[str] = []
    made = line_format({k.replace("_", "."): v for k, v in properties.items()}, warnings.append)
    assert warnings == []
    return made


@given(st.binary(max_size=60), st.lists(st.integers(0, 60), max_size=8))
def test_lines_do_not_depend_on_how_the_input_comes_in(data: bytes, cuts: list[int]) -> None:
    splitter = LineSplitter()
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    found: list[bytes] = []
    for begin, end in itertools.pairwise(places):
        found += splitter.feed(data[begin:end])
    found += splitter.rest()

    *ended, last = data.split(b"\n")
    assert found == [line.removesuffix(b"\r") for line in ended] + ([last] if last else [])


def test_a_line_end_may_be_torn_apart() -> None:
    splitter = LineSplitter()

    assert splitter.feed(b"a\r") == []
    assert splitter.feed(b"\nb") == [b"a"]
    assert splitter.rest() == [b"b"]
    assert splitter.rest() == []


def test_a_plain_line_is_the_value() -> None:
    made = reader()

    assert made.is_plain
    assert made.parse(b"k\tv\xff", 1) == InputRecord(value=b"k\tv\xff")
    assert made.parse(b"", 1) == InputRecord(value=b"")


def test_the_key_ends_at_the_first_separator() -> None:
    assert reader(parse_key="true").parse(b"k\tv\tw", 1) == InputRecord(key=b"k", value=b"v\tw")
    made = reader(parse_key="true", key_separator="::")
    assert made.parse(b"a:b::c", 1) == InputRecord(key=b"a:b", value=b"c")


def test_headers_key_and_value() -> None:
    assert line_format(BOTH, print).parse(b"h1:a,h2:b:c,h3:\tk\tv", 1) == InputRecord(
        headers=[("h1", b"a"), ("h2", b"b:c"), ("h3", b"")], key=b"k", value=b"v"
    )


def test_the_null_marker_makes_null_of_key_value_and_header_value() -> None:
    made = reader(**{k.replace(".", "_"): v for k, v in BOTH.items()}, null_marker="NULL")

    assert made.parse(b"h:NULL,g:x\tNULL\tNULL", 1) == InputRecord(
        headers=[("h", None), ("g", b"x")], key=None, value=None
    )
    assert made.parse(b"NULL\tk\tv", 1).headers == []
    assert reader(null_marker="NULL").parse(b"NULL", 1).value is None


@pytest.mark.parametrize(
    ("properties", "line", "complaint"),
    [
        ({"parse.key": "true"}, b"kv", "No key separator found on line number 7: 'kv'"),
        ({"parse.headers": "true"}, b"x", "No headers delimiter found on line number 7: 'x'"),
        (BOTH, b"h:a\tk", "No key separator found on line number 7: 'h:a\tk'"),
        (BOTH, b"h\tk\tv", "No header key separator found in pair 'h' on line number 7"),
        (BOTH, b"\tk\tv", "No header key separator found in pair '' on line number 7"),
        (
            {**BOTH, "null.marker": "N"},
            b"N:1\tk\tv",
            "Header keys should not be equal to the null marker 'N' on line number 7",
        ),
    ],
)
def test_a_line_that_is_no_record_is_named(
    properties: dict[str, str], line: bytes, complaint: str
) -> None:
    with pytest.raises(LineError) as caught:
        line_format(properties, print).parse(line, 7)
    assert str(caught.value) == complaint


def test_errors_may_be_ignored() -> None:
    key = reader(parse_key="true", ignore_error="true")
    assert key.parse(b"kv", 1) == InputRecord(value=b"kv")

    headers = reader(parse_headers="true", ignore_error="true")
    assert headers.parse(b"x", 1) == InputRecord(value=b"x")
    assert headers.parse(b",a:b,\tv", 1) == InputRecord(
        headers=[("", None), ("a", b"b")], value=b"v"
    )


@pytest.mark.parametrize(
    "properties",
    [
        {"parse.key": "true", "key.separator": "x", "null.marker": "x"},
        {"parse.headers": "true", "headers.separator": ":"},
        {"parse.headers": "true", "headers.delimiter": ","},
        {"parse.headers": "true", "headers.key.separator": "\t"},
        {"parse.headers": "true", "null.marker": "\t"},
    ],
)
def test_marks_that_mean_two_things_are_refused(properties: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="may not be equal"):
        line_format(properties, print)


def test_key_and_headers_may_end_with_the_same_mark_and_unused_marks_do_not_matter() -> None:
    line_format(BOTH, print)
    line_format({"parse.key": "true", "key.separator": ":"}, print)


def test_an_empty_mark_between_headers_is_refused() -> None:
    with pytest.raises(UsageError, match=r"headers\.separator may not be empty"):
        line_format({"parse.headers": "true", "headers.separator": ""}, print)


def test_an_unknown_property_is_worth_a_warning() -> None:
    warnings: list[str] = []
    line_format({"schema.registry.url": "x"}, warnings.append)
    assert warnings == ["reader property schema.registry.url is not known here and is ignored"]


def test_bytes_are_shown_short_and_on_one_line() -> None:
    assert shown(b"a\tb") == "a\tb"
    assert shown("é".encode() + b"\xff\n") == "é\\xff\\n"
    assert shown(b"x" * 100, most=4) == "xxxx..."
