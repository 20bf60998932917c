from __future__ import annotations

import pytest

from barnabas.cli.consumer_groups_plan import (
    Scope,
    export_lines,
    parse_datetime,
    parse_duration,
    parse_topics,
    read_plans,
    within_log,
)
from barnabas.cli.options import UsageError


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("1970-01-01T00:00:00.000", 0),
        ("2023-11-14T22:13:20.123", 1_700_000_000_123),
        ("2023-11-14T22:13:20", 1_700_000_000_000),
        ("2023-11-14T22:13:20.123Z", 1_700_000_000_123),
        ("2023-11-14T23:13:20.123+01:00", 1_700_000_000_123),
        ("2023-11-14T17:43:20.123-0430", 1_700_000_000_123),
        ("2023-11-15T03:13:20.123+05", 1_700_000_000_123),
        ("1969-12-31T23:59:59.999", -1),
    ],
)
def test_times_are_utc_unless_a_zone_follows(text: str, ms: int) -> None:
    assert parse_datetime(text) == ms


@pytest.mark.parametrize(
    "text",
    [
        "yesterday",
        "2023-11-14",
        "2023-11-14 22:13:20.123",
        "2023-11-14T22:13",
        "2023-11-14T22:13:20.1",
        "2023-02-30T00:00:00.000",
        "2023-11-14T25:00:00.000",
        "2023-11-14T22:13:20.123+25:00",
        "٢023-11-14T22:13:20.123",
    ],
)
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=f'^--to-datetime: "{text}": '.replace("+", r"\+")):
        parse_datetime(text)


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("P1D", 86_400_000),
        ("PT1H30M", 5_400_000),
        ("P2DT3H4M5.678S", 183_845_678),
        ("pt0.5s", 500),
        ("PT1,25S", 1250),
        ("-PT1M", -60_000),
        ("PT-1M", -60_000),
        ("-PT-1M", 60_000),
        ("PT-1.5S", -1500),
        ("P-1DT+1H", -82_800_000),
        ("PT0.0001S", 0),
    ],
)
def test_durations(text: str, ms: int) -> None:
    assert parse_duration(text) == ms


@pytest.mark.parametrize(
    "text", ["", "P", "PT", "P1DT", "1D", "PX", "P1H", "PT1D", "P1M", "PT1.2M"]
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=f'^--by-duration: "{text}" is not of the form'):
        parse_duration(text)


def test_topics_and_partitions() -> None:
    assert parse_topics(["a", "b:0,2", "c:1"]) == Scope(
        topics=["a"], places=[("b", 0), ("b", 2), ("c", 1)]
    )


@pytest.mark.parametrize(
    "text", ["t:", "t:x", "t:1,", "t:-1", "t:0:1", ":1", "t:²", "t:2147483648"]
)
def test_what_is_neither_topic_nor_partitions_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=f'^--topic: "{text}" is neither'):
        parse_topics([text])


def test_a_file_of_one_group_may_leave_the_group_out() -> None:
    plan = {("t", 0): 5, ("u", 1): 7}
    assert read_plans('t,0,5\n"u",1,7\n\n', ["g"]) == {"g": plan}
    assert read_plans("g,t,0,5\r\ng,u,1,7\r\nh,t,0,1", ["g"]) == {"g": plan, "h": {("t", 0): 1}}
    assert read_plans("", ["g"]) == {}


@pytest.mark.parametrize(
    ("text", "groups", "complaint"),
    [
        ("t,0,5", [], "line 1 is not of the form group,topic,partition,offset"),
        ("t,0,5", ["g", "h"], "line 1 is not of the form group,topic,partition,offset"),
        ("t,0,5\ng,t,0,5", ["g"], "line 2 is not of the form topic,partition,offset"),
        ("t,0,5\nt,x,5", ["g"], "line 2: x,5 are not two whole numbers"),
        ("t,0,soon", ["g"], "line 1: 0,soon are not two whole numbers"),
    ],
)
def test_a_line_that_is_wrong_is_told(text: str, groups: list[str], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        read_plans(text, groups)


def test_what_is_exported_can_be_read() -> None:
    long_name = "a-topic-with-25-characters"
    plans = {"g,1": {("u", 1): 7, ("t", 0): 5}, 'a"b': {(long_name, 0): 1}}

    lines = export_lines(plans, with_group=True)

    assert lines == [f'"a""b","{long_name}",0,1', '"g,1",t,0,5', '"g,1",u,1,7']
    assert read_plans("\n".join(lines), []) == plans
    assert export_lines({"g": plans["g,1"]}, with_group=False) == ["t,0,5", "u,1,7"]


def test_offsets_outside_the_log_become_the_nearest_inside() -> None:
    starts = {("t", n): 3 for n in range(4)}
    ends = {("t", n): 10 for n in range(4)}

    plan, warnings = within_log(
        {("t", 0): 2, ("t", 1): 3, ("t", 2): 10, ("t", 3): 11}, starts, ends
    )

    assert plan == {("t", 0): 3, ("t", 1): 3, ("t", 2): 10, ("t", 3): 10}
    assert warnings == [
        (
            "New offset (2) is lower than earliest offset for topic partition t-0. "
            "Value will be set to 3"
        ),
        (
            "New offset (11) is higher than latest offset for topic partition t-3. "
            "Value will be set to 10"
        ),
    ]
