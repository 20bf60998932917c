"""Rows of tables as records."""

from __future__ import annotations

import pyarrow as pa
import pytest

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.rows import Row, check_columns, has_headers, messages_of, rows_of
from barnabas.pipelines.vectors import HEADERS


def test_the_columns_of_sparks_connector_are_taken() -> None:
    check_columns(
        {
            "key": "binary",
            "value": "string",
            "topic": "string",
            "partition": "int",
            "headers": "array<struct<key:string,value:binary>>",
            "something": "map<string,int>",
        },
        None,
    )
    check_columns({"value": "binary", "topic": "int"}, "t")


@pytest.mark.parametrize(
    ("columns", "topic", "part"),
    [
        ({"key": "string"}, "t", "no column value; there are key"),
        ({}, "t", "there are none"),
        ({"value": "string"}, None, "where to?"),
        ({"value": "int"}, "t", "column value: string or binary is expected, not int"),
        ({"value": "string", "key": "bigint"}, "t", "column key"),
        ({"value": "string", "partition": "bigint"}, "t", "int is expected, not bigint"),
        ({"value": "string", "topic": "binary"}, None, "column topic"),
        ({"value": "string", "headers": "string"}, "t", "column headers"),
    ],
)
def test_other_columns_are_refused_in_one_line(
    columns: dict[str, str], topic: str | None, part: str
) -> None:
    with pytest.raises(PipelineError, match=part.replace("?", r"\?")):
        check_columns(columns, topic)


def test_rows_become_records() -> None:
    batch = pa.RecordBatch.from_arrays(
        [
            pa.array(["k", None]),
            pa.array([b"\xff", None], pa.binary()),
            pa.array(["a", "b"]),
            pa.array([None, 3], pa.int32()),
            pa.array([[{"key": "h", "value": None}], None], HEADERS),
        ],
        names=["key", "value", "topic", "partition", "headers"],
    )

    assert list(rows_of(batch, None)) == [
        Row("a", b"k", b"\xff", -1, [("h", None)]),
        Row("b", None, None, 3, None),
    ]


def test_the_option_wins_over_the_column() -> None:
    batch = pa.RecordBatch.from_arrays(
        [pa.array([b"v"]), pa.array(["a"])], names=["value", "topic"]
    )

    assert [row.topic for row in rows_of(batch, "t")] == ["t"]


def test_a_row_without_a_topic_is_an_error() -> None:
    batch = pa.RecordBatch.from_arrays(
        [pa.array([b"v"]), pa.array([None], pa.string())], names=["value", "topic"]
    )

    with pytest.raises(PipelineError, match="no topic"):
        list(rows_of(batch, None))


def test_rows_without_headers_go_together_in_their_order() -> None:
    batch = pa.RecordBatch.from_arrays(
        [
            pa.array([b"1", b"2", b"3", b"4", b"5"]),
            pa.array(["a", "a", "b", "a", "a"]),
            pa.array([None, 7, None, None, None], pa.int32()),
            pa.nulls(5, HEADERS),
        ],
        names=["value", "topic", "partition", "headers"],
    )

    found = list(messages_of(batch, None, 4))

    assert not has_headers(batch)
    assert found == [
        ("a", -1, [{"key": None, "value": b"1"}]),
        ("a", 7, [{"key": None, "value": b"2"}]),
        ("b", -1, [{"key": None, "value": b"3"}]),
        ("a", -1, [{"key": None, "value": b"4"}]),
        ("a", -1, [{"key": None, "value": b"5"}]),
    ]


def test_one_row_with_headers_is_noticed() -> None:
    some = pa.array([None, [{"key": "h", "value": b"v"}]], HEADERS)

    assert has_headers(pa.RecordBatch.from_arrays([some], names=["headers"]))
    assert not has_headers(pa.RecordBatch.from_arrays([pa.array([1])], names=["value"]))
