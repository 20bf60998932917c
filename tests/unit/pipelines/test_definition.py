"""Flags and files say the same thing, and what cannot be meant is one line."""

from __future__ import annotations

import pytest

from barnabas.pipelines.declaring import Kind, build, settings_of
from barnabas.pipelines.definition import Archive, Reconcile, Replay, Transform
from barnabas.pipelines.errors import PipelineError

DEFINITIONS = (Archive, Replay, Transform, Reconcile)
TRANSFORM = {"topic": ["prices"], "to": "out", "checkpoint": "state", "query": "SELECT 1"}


def test_what_was_typed_wins_over_the_file() -> None:
    built = build(Archive, {"to": "typed"}, {"to": "filed", "topic": "a", "format": "json"})

    assert (built.to, built.topic, built.format) == ("typed", ("a",), "json")


def test_pairs_of_both_are_taken_together() -> None:
    built = build(
        Archive,
        {"to": "lake", "topic": ["t"], "spark-conf": ["a=1", "b=x=y"]},
        {"spark-conf": {"a": 2, "c": True}},
    )

    assert built.spark_conf == {"a": "1", "b": "x=y", "c": "true"}


def test_several_are_a_list_or_one_text_with_commas() -> None:
    for written in (["a", "b"], ["a,b"], "a, b", ["a", "b", "a"]):
        assert build(Archive, {"to": "lake", "topic": written}, {}).topic == ("a", "b")


def test_underscores_in_a_file_are_dashes() -> None:
    assert build(Archive, {"to": "lake", "topic": "t"}, {"compact_files": 4}).compact_files == 4


def test_a_pair_without_a_name_holds_for_all() -> None:
    built = build(Transform, {**TRANSFORM, "schema": ["a STRING, b INT", "x=c INT"]}, {})

    assert built.schema == {"": "a STRING, b INT", "x": "c INT"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"topic": "t"}, "--to is missing: DIRECTORY"),
        ({"to": "lake"}, "exactly one of --topic and --topic-pattern"),
        ({"to": "lake", "topic": "t", "topic-pattern": "x"}, "exactly one of"),
        ({"to": "lake", "topic": "t", "formt": "json"}, "--formt is no setting here: did you mean"),
        ({"to": "lake", "topic": "t", "format": "avro"}, '"avro" is not one of parquet, json'),
        (
            {"to": "lake", "topic": "t", "compact-mb": "x"},
            '--compact-mb: "x" is not a whole number',
        ),
        ({"to": "lake", "topic": "t", "compact-mb": 0}, "0 is out of range: at least 1"),
        ({"to": "lake", "topic": "t", "compact-files": 1}, "one file cannot be made fewer"),
        ({"to": "lake", "topic": "t", "once": "maybe"}, '"maybe" is neither true nor false'),
        ({"to": "lake", "topic": [1]}, "is not a list of texts"),
        ({"to": "lake", "topic": "t", "partition-by": "day"}, '"day" is not one of topic, date'),
        ({"to": "lake", "topic": "t", "option": ["x"]}, '"x" is not of the form NAME=VALUE'),
    ],
)
def test_what_cannot_be_meant_is_named(given: dict[str, object], said: str) -> None:
    with pytest.raises(PipelineError) as raised:
        build(Archive, given, {})
    assert said in str(raised.value)


def test_a_transform_is_a_query_or_a_function() -> None:
    with pytest.raises(PipelineError, match="exactly one of --query and --function"):
        build(Transform, {**TRANSFORM, "function": "f.py:f"}, {})


def test_formats_of_tables_are_checked() -> None:
    with pytest.raises(PipelineError, match='--from-format of prices: "xml" is not one of json'):
        build(Transform, {**TRANSFORM, "from-format": ["prices=xml"]}, {})


@pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda each: each.__name__)
def test_every_setting_says_what_it_is(definition: type) -> None:
    for setting in settings_of(definition):
        assert setting.help.endswith("."), setting
        assert bool(setting.value) == (setting.kind is not Kind.SWITCH), setting
