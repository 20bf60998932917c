"""Beyond the exercises: what a topic keeps, and a record that nobody can process."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from barnabas.lab.programs.quotations import quotation
from barnabas.lab.programs.reading import read_topic
from barnabas.lab.scenarios.clients import Reader, Sender

if TYPE_CHECKING:
    from confluent_kafka import Message

    from barnabas.lab.scenarios.stage import Stage

POISON = "crash"
"""The value at which the lab's consumer dies."""


def retention(stage: Stage) -> None:
    """A consumer is away for longer than records are kept."""
    stage.create_topic()
    stage.produce()
    first = stage.consumer()
    stage.wait(lambda counts: counts.commits > 0, "the first commit")
    first.stop()
    committed = stage.ledger.refresh().reached[0]
    stage.fault(f"{first.name} stopped at offset {committed:,}")
    stage.produce()
    if stage.scenario.topic.configs.get("retention.bytes", "-1") != "-1":
        view = stage.wait_view(
            lambda view: (view[0].start_offset or 0) > committed, "old segments to be deleted"
        )
        stage.fault(f"retention: partition 0 begins at offset {view[0].start_offset:,} now")
        stage.see("overtaken", (view[0].start_offset or 0) > committed)
    else:
        stage.see("kept", stage.view()[0].start_offset == 0)
    stage.recovery("the consumer is started again")
    stage.read_all(stage.consumer())


def compaction(stage: Stage) -> None:
    """Every key has many values; the log keeps the last one of each."""
    stage.create_topic()
    keys, versions = stage.param("keys"), stage.param("versions")
    writer = Sender(stage, "writer")
    last: dict[str, str] = {}
    for version in range(versions):
        for number in range(keys):
            key, value = f"key-{number}", f"version {version}: {quotation(number)}"
            writer.send(key, value)
            last[key] = value
        writer.flush()
    stage.step(f"{versions} versions of each of {keys} keys are sent")
    for number in range(stage.param("fillers")):  # the segment that is written to stays as it is
        writer.send(f"filler-{number}", quotation(number))
        last[f"filler-{number}"] = quotation(number)
        writer.flush()
    writer.close()
    properties = {"bootstrap.servers": stage.cluster.bootstrap}

    def is_compacted() -> bool:
        found = Counter(record.key for record in read_topic(properties, stage.topic))
        return all(found[f"key-{number}"] == 1 for number in range(keys))

    stage.cluster.wait(is_compacted, 120, "the log to be compacted")
    stage.fault("the cleaner has been there")
    with Reader(stage, "reader") as reader:
        reader.read(stage.end_of(0))
    seen: dict[str | None, str | None] = {}
    for record in stage.own.received:
        seen[record.key] = record.value
    stage.see("last-values", seen == last)
    stage.see("fewer", len(stage.own.received) < len(stage.own.sent))


def poison(stage: Stage) -> None:
    """One record makes the consumer crash, again and again, until somebody puts it aside."""
    stage.create_topic()
    half = stage.param("records") // 2
    writer = Sender(stage, "writer")
    for number in range(half):
        writer.send(str(number), quotation(number))
    writer.send("poison", POISON, is_judged=False)
    for number in range(half, 2 * half):
        writer.send(str(number), quotation(number))
    writer.flush()
    stage.step(f"{2 * half} records are sent, and one in their middle that nobody can process")
    if stage.param("dead-letters"):
        _with_dead_letters(stage, writer)
    else:
        _crash_again_and_again(stage, half)
    writer.close()


def _crash_again_and_again(stage: Stage, half: int) -> None:
    crashes = 0
    for _ in range(stage.param("attempts")):
        consumer = stage.consumer()
        consumer.is_ended = True  # it dies by itself, as it should
        status = consumer.wait(120)
        crashes += status != 0
        done = consumer.book.counts.processed.total()
        stage.fault(f"{consumer.name} crashed at the poison record, {done:,} records processed")
    reached = stage.ledger.refresh().reached.get(0, 0)
    stage.see("stuck", crashes == stage.param("attempts") and reached <= half)


def _with_dead_letters(stage: Stage, writer: Sender) -> None:
    aside = f"{stage.topic}-dead-letters"
    stage.cluster.create_topic(aside, 1)

    def process(message: Message) -> bool:
        if message.value() != POISON.encode():
            return True
        writer.send("poison", POISON, topic=aside, is_judged=False)
        writer.flush()
        stage.recovery(f"the poison record is put aside, into {aside}")
        return False

    with Reader(stage, "reader") as reader:
        reader.read(stage.end_of(0), process)
    properties = {"bootstrap.servers": stage.cluster.bootstrap}
    put_aside = read_topic(properties, aside)
    stage.see("put-aside", [record.value for record in put_aside] == [POISON])
