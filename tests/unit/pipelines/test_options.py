"""Options of the source and the sink: Spark's names, one clear line for what cannot be meant."""

from __future__ import annotations

import pytest

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.offsets import EARLIEST, LATEST, AtEdge, AtOffsets, AtTime, AtTimes
from barnabas.pipelines.options import SourceOptions, includes_headers, sink_options, source_options

LEAST = {"kafka.bootstrap.servers": "h:1", "subscribe": "t"}


def source(is_stream: bool = False, /, **options: str) -> SourceOptions:
    named = {name.replace("__", "."): value for name, value in options.items()}
    return source_options(LEAST | named, is_stream=is_stream)


def test_names_are_taken_in_any_case() -> None:
    options = {"KAFKA.Bootstrap.Servers": "h:1", "SUBSCRIBE": "b, a,", "failondataloss": "FALSE"}

    found = source_options(options, is_stream=False)

    assert found.choice.topics == ("a", "b")
    assert found.properties == {"bootstrap.servers": "h:1"}
    assert not found.fail_on_data_loss


def test_a_batch_goes_from_the_beginning_to_the_end_and_a_stream_from_the_end_on() -> None:
    assert (source().starting, source().ending) == (AtEdge(EARLIEST), AtEdge(LATEST))
    assert source(True).starting == AtEdge(LATEST)


def test_a_time_for_all_wins_over_times_and_those_over_offsets() -> None:
    offsets, times = '{"t": {"0": 3}}', '{"t": {"0": 7}}'

    assert source(startingOffsets=offsets).starting == AtOffsets({("t", 0): 3})
    by_times = {"startingOffsets": offsets, "startingOffsetsByTimestamp": times}
    assert source(**by_times).starting == AtTimes({("t", 0): 7})
    assert source(startingTimestamp="9", **by_times).starting == AtTime(9)


def test_what_begins_with_kafka_is_passed_on_to_the_client() -> None:
    found = source(
        kafka__security__protocol="SASL_SSL",
        kafka__isolation__level="read_committed",
        kafka__max__partition__fetch__bytes="1000",
    )

    assert found.properties["security.protocol"] == "SASL_SSL"
    assert found.is_committed_only
    assert found.fetch_bytes == 1000


def test_three_ways_to_say_what_is_read() -> None:
    servers = {"kafka.bootstrap.servers": "h:1"}
    assigned = source_options({**servers, "assign": '{"t": [1, 0]}'}, is_stream=True)
    by_pattern = source_options({**servers, "subscribePattern": "t.*"}, is_stream=True)

    assert assigned.choice.places == (("t", 0), ("t", 1))
    assert by_pattern.choice.pattern == "t.*"


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"subscribe": "t"}, "kafka.bootstrap.servers: say where"),
        ({"kafka.bootstrap.servers": "h:1"}, "say one of subscribe, subscribePattern, assign"),
        (LEAST | {"assign": "{}"}, "not subscribe and assign"),
        (LEAST | {"subscribe": " , "}, "nothing to read"),
        (LEAST | {"minPartitions": "0"}, 'minPartitions: "0"'),
        (LEAST | {"failOnDataLoss": "perhaps"}, "neither true nor false"),
        (LEAST | {"kafka.isolation.level": "dirty"}, "kafka.isolation.level"),
        (LEAST | {"startingOffsets": "latest"}, "cannot start at latest"),
        (LEAST | {"startingOffsets": '{"t": {"0": -1}}'}, "cannot start at latest"),
        (LEAST | {"endingOffsets": "earliest"}, "nor end at earliest"),
        (
            LEAST | {"startingOffsets": '{"t": {"0": 5}}', "endingOffsets": '{"t": {"0": 4}}'},
            "after its end 4",
        ),
        (LEAST | {"kafka.auto.offset.reset": "earliest"}, "startingOffsets instead"),
        (LEAST | {"kafka.value.deserializer": "x"}, "values come as bytes"),
        (LEAST | {"startingOffset": "earliest"}, "startingOffsets there is"),
        (LEAST | {"minOffsetsPerTrigger": "3"}, "not offered here"),
        (LEAST | {"startingOffsetsByTimestampStrategy": "x"}, "neither error nor latest"),
    ],
)
def test_what_cannot_be_meant_is_one_line_that_names_the_option(
    options: dict[str, str], part: str
) -> None:
    with pytest.raises(PipelineError) as caught:
        source_options(options, is_stream=False)

    assert part in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_bad_pattern_is_refused() -> None:
    servers = {"kafka.bootstrap.servers": "h:1"}
    with pytest.raises(PipelineError, match="subscribePattern"):
        source_options({**servers, "subscribePattern": "("}, is_stream=True)


@pytest.mark.parametrize("name", ["endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp"])
def test_a_stream_has_no_end(name: str) -> None:
    value = {"endingTimestamp": "1"}.get(name, '{"t": {"0": 1}}')
    with pytest.raises(PipelineError, match="a stream has no end"):
        source_options(LEAST | {name: value}, is_stream=True)


def test_what_is_not_known_is_passed_over_as_spark_does() -> None:
    assert source(path="/somewhere", groupIdPrefix="x").choice.topics == ("t",)


def test_only_headers_change_the_columns() -> None:
    assert not includes_headers(LEAST)
    assert includes_headers(LEAST | {"includeHeaders": "true"})


def test_the_sink_writes_at_least_once_unless_asked_for_more() -> None:
    plain = sink_options(
        {"kafka.bootstrap.servers": "h:1", "topic": "t", "checkpointLocation": "x"}
    )
    once = sink_options(
        {"kafka.bootstrap.servers": "h:1", "exactlyOnce": "true", "exactlyOnceId": "job"}
    )

    assert (plain.topic, plain.exactly_once) == ("t", False)
    assert (once.topic, once.exactly_once, once.exactly_once_id) == (None, True, "job")


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"exactlyOnceId": "x"}, "means nothing without"),
        ({"kafka.transactional.id": "x"}, "say exactlyOnce=true"),
        ({"exactlyonse": "true"}, "exactlyOnce there is"),
    ],
)
def test_what_a_sink_cannot_mean(options: dict[str, str], part: str) -> None:
    with pytest.raises(PipelineError, match=part):
        sink_options({"kafka.bootstrap.servers": "h:1", **options})
