"""The reader of a stream as Spark drives it, over restarts: where batches begin, what is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from barnabas_process import BarnabasProcess
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows
from topic_records import add_partitions, create_topic, mixed, produce

from barnabas.pipelines.errors import DataLossError
from barnabas.pipelines.offsets import Json
from barnabas.pipelines.options import source_options
from barnabas.pipelines.stream import TopicStreamReader

ALL = ReadAllAvailable()

Start = Callable[..., TopicStreamReader]


@pytest.fixture
def start(broker: BarnabasProcess) -> Iterator[Start]:
    """Begins to read, as a query does that is started, or started again."""
    readers = []

    def begin(**options: str) -> TopicStreamReader:
        given = {"kafka.bootstrap.servers": broker.bootstrap, **options}
        reader = TopicStreamReader(source_options(given, is_stream=True))
        readers.append(reader)
        return reader

    yield begin
    for reader in readers:
        reader.stop()


@pytest.fixture
def topic(broker: BarnabasProcess, topic_name: Callable[[], str]) -> str:
    name = create_topic(broker.bootstrap, topic_name(), 1)
    produce(broker.bootstrap, name, mixed(10))
    return name


def delete_records(broker: BarnabasProcess, topic: str, before: int) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for future in admin.delete_records([TopicPartition(topic, 0, before)]).values():
        future.result(60)


def delete_topic(broker: BarnabasProcess, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.delete_topics([topic])[topic].result(60)


def rows_of(reader: TopicStreamReader, begin: Json, end: Json) -> int:
    """Of a batch, as its tasks read it."""
    return sum(
        batch.num_rows for share in reader.partitions(begin, end) for batch in reader.read(share)
    )


def test_a_first_batch_that_is_repeated_begins_where_it_began(
    broker: BarnabasProcess, topic: str, start: Start
) -> None:
    """Although the beginning of the topic is another one by then."""
    options = {"subscribe": topic, "startingOffsets": "earliest"}
    reader = start(**options)
    end = reader.latestOffset(reader.initialOffset(), ALL)
    delete_records(broker, topic, before=4)

    again = start(**options)
    begin = again.initialOffset()

    assert begin == {topic: {"0": 4}}
    with pytest.raises(DataLossError, match="offsets 0 to 3"):
        rows_of(again, begin, end)
    lenient = start(**options, failOnDataLoss="false")
    assert rows_of(lenient, lenient.initialOffset(), end) == 6


def test_a_partition_that_came_before_the_first_batch_is_repeated_is_read_after_it(
    broker: BarnabasProcess, topic: str, start: Start
) -> None:
    options = {"subscribe": topic, "startingOffsets": "earliest"}
    reader = start(**options)
    end = reader.latestOffset(reader.initialOffset(), ALL)
    add_partitions(broker.bootstrap, topic, 2)
    produce(broker.bootstrap, topic, [dict(each, partition=1) for each in mixed(3)])

    again = start(**options)

    assert rows_of(again, again.initialOffset(), end) == 10
    assert rows_of(again, end, again.latestOffset(end, ALL)) == 3


def test_a_stream_from_the_end_keeps_its_start_before_there_is_anything(
    broker: BarnabasProcess, topic: str, start: Start
) -> None:
    reader = start(subscribe=topic)
    begin = reader.initialOffset()
    produce(broker.bootstrap, topic, mixed(2))
    first = reader.latestOffset(begin, ALL)
    assert reader.partitions(begin, first) == []

    again = start(subscribe=topic)

    assert again.partitions(again.initialOffset(), first) == []
    assert rows_of(again, first, again.latestOffset(first, ALL)) == 2


@pytest.mark.parametrize("limit", [ALL, ReadMaxRows(1000)], ids=["all", "limited"])
def test_where_nothing_is_new_the_offsets_stay_and_nothing_is_read_again(
    topic: str, start: Start, limit: ReadAllAvailable | ReadMaxRows
) -> None:
    """Spark compares offsets as texts; and runs batches without records where there are windows."""
    reader = start(subscribe=topic, startingOffsets="earliest")
    end = reader.latestOffset(reader.initialOffset(), limit)

    assert reader.latestOffset(end, limit) is end
    assert reader.partitions(end, end) == []


def test_a_new_topic_that_was_deleted_before_it_was_read_is_lost_or_passed_over_as_asked(
    broker: BarnabasProcess, topic: str, start: Start
) -> None:
    options = {"subscribePattern": f"{topic}.*", "startingOffsets": "earliest"}
    reader = start(**options)
    first = reader.latestOffset(reader.initialOffset(), ALL)
    new = create_topic(broker.bootstrap, f"{topic}-new", 1)
    produce(broker.bootstrap, topic, mixed(2))
    produce(broker.bootstrap, new, mixed(5))
    second = reader.latestOffset(first, ALL)
    delete_topic(broker, new)

    again = start(**options)
    with pytest.raises(DataLossError, match=f"{new}-0: deleted before anything"):
        again.partitions(first, second)

    lenient = start(**options, failOnDataLoss="false")
    assert rows_of(lenient, first, second) == 2
    third = lenient.latestOffset(second, ALL)
    assert lenient.partitions(second, third) == []


def test_a_topic_that_was_made_anew_is_lost_or_read_on_as_asked(
    broker: BarnabasProcess, topic: str, start: Start
) -> None:
    options = {"subscribe": topic, "startingOffsets": "earliest"}
    reader = start(**options)
    first = reader.latestOffset(reader.initialOffset(), ALL)
    delete_topic(broker, topic)
    create_topic(broker.bootstrap, topic, 1)
    produce(broker.bootstrap, topic, mixed(3))

    again = start(**options)
    second = again.latestOffset(first, ALL)
    with pytest.raises(DataLossError, match="was read up to 10, and ends at 3 now"):
        again.partitions(first, second)

    lenient = start(**options, failOnDataLoss="false")
    assert lenient.partitions(first, second) == []
    produce(broker.bootstrap, topic, mixed(1))
    assert rows_of(lenient, second, lenient.latestOffset(second, ALL)) == 1
