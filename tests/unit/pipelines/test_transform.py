"""Topics as tables."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.pipelines.definition import Transform
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.transform import Table, tables_of


def transform(**given: Any) -> Transform:
    return Transform(**{"to": "out", "checkpoint": "state", "query": "SELECT 1", **given})


def test_a_topic_is_a_table_of_its_name_or_of_another() -> None:
    definition = transform(
        topic=("eu.prices", "t=trucks"),
        from_format={"": "json", "t": "text"},
        schema={"": "a INT"},
        watermark={"t": "_timestamp 1 minute"},
    )

    assert tables_of(definition) == [
        Table("eu_prices", "eu.prices", "json", "a INT", None),
        Table("t", "trucks", "text", "a INT", ("_timestamp", "1 minute")),
    ]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"topic": ("prices",)}, "--schema: the columns of prices are missing"),
        (
            {"topic": ("a",), "from_format": {"": "text"}, "watermark": {"b": "x 1 s"}},
            "--watermark: there is no table b: a",
        ),
        (
            {"topic": ("a",), "from_format": {"": "text"}, "watermark": {"a": "soon"}},
            'is not of the form "at 10 seconds"',
        ),
    ],
)
def test_what_is_wrong_with_a_table_is_said(given: dict[str, Any], said: str) -> None:
    with pytest.raises(PipelineError) as raised:
        tables_of(transform(**given))
    assert said in str(raised.value)
