"""Pipelines on a Spark of this process and a real broker: what comes out is what went in."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from barnabas_process import BarnabasProcess
from confluent_kafka import Producer
from pipeline_rounds import (
    Sent,
    by_partition,
    check_lake,
    filled,
    make_topic,
    read_committed,
)
from planted_logs import Planted, judged, plant, scramble
from pyspark.sql import SparkSession
from spark_here import run

from barnabas.lab.programs.collecting import SIDES
from barnabas.pipelines import archive, replay, running, transform
from barnabas.pipelines.definition import Archive, Reconcile, Replay, Transform
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.lake import read_lake
from barnabas.pipelines.reconcile import reconcile
from barnabas.pipelines.reconcile_report import Count, Report

TopicName = Callable[[], str]
ALL = 100_000


@dataclass(frozen=True, slots=True)
class Archived:
    """A lake that was made in two runs, and what each of them did."""

    sent: Sent
    lake: Path
    runs: tuple[running.Outcome, running.Outcome]


@pytest.fixture(scope="module")
def archived(
    spark: SparkSession,
    broker: BarnabasProcess,
    properties: Mapping[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Archived:
    sent = filled(broker, "archived")
    lake = tmp_path_factory.mktemp("archived") / "lake"
    definition = Archive(
        topic=(sent.topic,), to=str(lake), once=True, max_offsets_per_trigger=300, compact_files=6
    )
    first = run(spark, lambda: archive.start(spark, definition, properties))
    sent.send(broker.bootstrap, 60)
    second = run(spark, lambda: archive.start(spark, definition, properties))
    return Archived(sent, lake, (first, second))


def test_a_lake_has_each_record_once_and_few_files(archived: Archived) -> None:
    first, second = archived.runs

    assert (first.rows, first.batches, second.rows) == (600, 2, 60)
    check_lake(archived.lake, archived.sent)
    files = list(archived.lake.glob("topic=archived/date=*/*.parquet"))
    assert len(files) < 6, "three of each of three batches, had they not been merged"


def test_a_topic_and_a_lake_can_be_compared(
    spark: SparkSession, properties: Mapping[str, str], archived: Archived, tmp_path: Path
) -> None:
    report = reconcile(
        spark,
        Reconcile(sent=("topic:archived",), received=(f"lake:{archived.lake}",)),
        properties,
        str(tmp_path / "found"),
    )

    assert report.is_clean
    assert sum(count.sent for count in report.counts) == 660
    assert read_lake(spark, str(archived.lake)).count() == 660


def test_a_lake_goes_back_into_a_topic_in_order(
    spark: SparkSession,
    broker: BarnabasProcess,
    properties: Mapping[str, str],
    topic_name: TopicName,
    tmp_path: Path,
) -> None:
    """Through JSON and text, which is the longer way."""
    sent = filled(broker, topic_name())
    lake = str(tmp_path / "lake")
    run(
        spark,
        lambda: archive.start(
            spark,
            Archive(
                topic=(sent.topic,),
                to=lake,
                once=True,
                format="json",
                values="text",
                partition_by=("topic", "hour", "partition"),
            ),
            properties,
        ),
    )
    make_topic(broker, f"{sent.topic}-again")
    definition = Replay(
        lake=lake,
        checkpoint=str(tmp_path / "checkpoint"),
        rename={sent.topic: f"{sent.topic}-again"},
        offsets_per_batch=90,
    )
    plans: list[replay.Plan] = []

    def once_more() -> int:
        return replay.run(
            spark, definition, properties, begin=plans.append, show=lambda batch, outcome: None
        ).rows

    assert (once_more(), once_more()) == (600, 0)
    assert plans[0] == plans[1]
    assert plans[0].runs == (0, 1, 2)
    assert read_committed(broker.bootstrap, f"{sent.topic}-again") == by_partition(sent)
    with pytest.raises(PipelineError, match="that of another replay"):
        replay.kept_plan(
            archive.HadoopFiles(spark, definition.checkpoint),
            Replay(lake=lake, checkpoint=definition.checkpoint, where="partition = 0"),
        )


def produce(broker: BarnabasProcess, topic: str, *values: Mapping[str, object]) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for value in values:
        producer.produce(topic, json.dumps(value), partition=0)
    assert producer.flush(30) == 0


def values_of(broker: BarnabasProcess, topic: str) -> list[Any]:
    """Not in their order: records without keys go to any partition."""
    found = read_committed(broker.bootstrap, topic)
    values = [json.loads(value) for values in found.values() for value in values]
    return sorted(values, key=repr)


def test_windows_and_joins_of_two_topics_become_a_topic(
    spark: SparkSession,
    broker: BarnabasProcess,
    properties: Mapping[str, str],
    topic_name: TopicName,
    tmp_path: Path,
) -> None:
    orders, payments, out = topic_name(), topic_name(), topic_name()
    for name in (orders, payments, out):
        make_topic(broker, name)
    produce(
        broker,
        orders,
        {"id": 1, "at": "2026-01-05T09:00:01Z"},
        {"id": 2, "at": "2026-01-05T09:00:02Z"},
    )
    produce(broker, payments, {"id": 2, "sum": 2.5, "at": "2026-01-05T09:00:09Z"})
    definition = Transform(
        topic=(f"orders={orders}", f"payments={payments}"),
        schema={"": "id INT, sum DOUBLE, at TIMESTAMP"},
        watermark={"": "at 1 minute"},
        query="SELECT o.id AS key, p.sum AS paid, unix_seconds(p.at) - unix_seconds(o.at) AS after "
        "FROM orders o JOIN payments p ON o.id = p.id "
        "AND p.at BETWEEN o.at AND o.at + INTERVAL 1 HOUR",
        to=out,
        checkpoint=str(tmp_path / "join"),
        once=True,
    )

    run(spark, lambda: transform.start(spark, definition, properties))
    first = {"paid": 2.5, "after": 7}
    assert values_of(broker, out) == [first]

    produce(broker, payments, {"id": 1, "sum": 4.0, "at": "2026-01-05T09:00:31Z"})
    run(spark, lambda: transform.start(spark, definition, properties))
    assert values_of(broker, out) == [first, {"paid": 4.0, "after": 30}]


def test_a_value_that_is_not_of_its_format_is_skipped_or_fails(
    spark: SparkSession,
    broker: BarnabasProcess,
    properties: Mapping[str, str],
    topic_name: TopicName,
    tmp_path: Path,
) -> None:
    source, out = topic_name(), topic_name()
    make_topic(broker, source)
    make_topic(broker, out)
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for value in ('{"a": 1}', "{broken", '{"a": 2}'):
        producer.produce(source, value, partition=0)
    assert producer.flush(30) == 0

    def start(how: str) -> Any:
        definition = Transform(
            topic=(f"t={source}",),
            schema={"": "a INT"},
            bad_values=how,
            query="SELECT a FROM t",
            to=out,
            checkpoint=str(tmp_path / how),
            once=True,
        )
        return transform.start(spark, definition, properties)

    with pytest.raises(PipelineError):
        run(spark, lambda: start("fail"))
    run(spark, lambda: start("skip"))
    assert sorted(value["a"] for value in values_of(broker, out)) == [1, 2]


def compare(spark: SparkSession, folder: Path, sent: list[str], received: list[str]) -> Report:
    for name, lines in (("sent", sent), ("received", received)):
        (folder / f"{name}.log").write_text("".join(f"{line}\n" for line in lines))
    definition = Reconcile(
        sent=(str(folder / "sent.log"),), received=(str(folder / "received.log"),)
    )
    return reconcile(spark, definition, {}, str(folder / "found"))


def test_planted_differences_are_found_with_their_lines(
    spark: SparkSession, tmp_path: Path
) -> None:
    sent = [f"t,{number % 2},{number},to be, or not: {number}" for number in range(1000)]
    received = list(sent)
    lost = received.pop(500)
    received.insert(700, received[10])
    received[20], received[24] = received[24], received[20]
    received.append("t,1,x,nobody sent this")

    report = compare(spark, tmp_path, sent, received)

    assert report.counts == (
        Count(topic="t", partition=0, sent=500, received=500, lost=1, duplicated=1, reordered=2),
        Count(topic="t", partition=1, sent=500, received=501, foreign=1),
    )
    assert lost == "t,0,500,to be, or not: 500"
    found = {(each.kind, each.key): (each.sent_at, each.received_at) for each in report.findings}
    assert found == {
        ("lost", "500"): (501, None),
        ("duplicated", "10"): (11, 11),
        ("foreign", "x"): (None, 1001),
        ("reordered", "20"): (21, 25),
        ("reordered", "22"): (23, 23),
    }


@pytest.mark.parametrize("make", [plant, scramble])
def test_reconcile_and_the_verdict_of_the_lab_find_the_same(
    spark: SparkSession, tmp_path: Path, make: Callable[..., object]
) -> None:
    """Logs are large or small: what is wrong with them does not depend on who looks."""
    make(tmp_path, seed=7)
    logs = [f"{tmp_path}/{side}/payload-*.log" for side in SIDES]

    definition = Reconcile(sent=(logs[0],), received=(logs[1],), limit=ALL)
    report = reconcile(spark, definition, {}, str(tmp_path / "found"))

    found = Planted(Counter(), Counter(), Counter(), Counter())
    for each in report.findings:
        getattr(found, each.kind)[each.partition, each.key] += each.times
    assert all(found)
    assert found == judged(tmp_path)
    for kind, records in found._asdict().items():
        assert sum(getattr(count, kind) for count in report.counts) == records.total()


def test_a_line_that_is_no_record_stops_the_comparison(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(
        PipelineError, match=r"sent\.log: 1 lines are not topic,partition,key,value"
    ):
        compare(spark, tmp_path, ["t,0,1,a", "not a record"], ["t,0,1,a"])
