"""Beyond the exercises: what a transaction hides, and whom it keeps out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.lab.programs.quotations import quotation
from barnabas.lab.scenarios.clients import Reader, Sender

if TYPE_CHECKING:
    from barnabas.lab.scenarios.stage import Stage

WRITER = "lab-writer"
"""The transactional id of both workers."""


def aborted_records(stage: Stage) -> None:
    """Every second transaction is aborted; who reads what?"""
    stage.create_topic()
    count = stage.param("records-per-transaction")
    writer = Sender(stage, "writer", transactional_id=f"{WRITER}-{stage.topic}")
    writer.join()
    for number in range(stage.param("transactions")):
        commit = number % 2 == 0
        _transact(stage, writer, number, count)
        writer.end(commit=commit)
        if commit:
            stage.step(f"transaction {number}: {count} records, committed")
        else:
            stage.fault(f"transaction {number}: {count} records, aborted")
    writer.close()
    level = "read_committed" if stage.param("read-committed") else "read_uncommitted"
    stage.step(f"a consumer reads with isolation.level={level}")
    with Reader(stage, "reader", relies_on_commits=True, isolation_level=level) as reader:
        reader.read(stage.end_of(0))


def zombie(stage: Stage) -> None:
    """A worker hangs in its transaction, another one takes over, and the first one wakes up."""
    from confluent_kafka import KafkaException

    stage.create_topic()
    count = stage.param("records-per-transaction")
    old = Sender(stage, "worker-1", transactional_id=f"{WRITER}-{stage.topic}")
    old.join()
    _transact(stage, old, 0, count)
    old.flush()
    stage.fault("worker-1 hangs, with its transaction open")
    new = Sender(stage, "worker-2", transactional_id=f"{WRITER}-{stage.topic}")
    new.join()
    stage.own.ended["transaction-0"] = False
    stage.recovery("worker-2 takes over: the open transaction is aborted")
    _transact(stage, new, 1, count)
    new.end(commit=True)
    stage.step("worker-2 commits")
    try:
        old.end(commit=True)
    except KafkaException as error:
        refusal = error.args[0]
        stage.fault(f"worker-1 wakes up and commits: {refusal.name()}")
        stage.see("fenced", refusal.name() in ("_FENCED", "INVALID_PRODUCER_EPOCH"))
    else:
        stage.see("fenced", False)
    old.close()
    new.close()
    with Reader(
        stage, "reader", relies_on_commits=True, isolation_level="read_committed"
    ) as reader:
        reader.read(stage.end_of(0))


def _transact(stage: Stage, sender: Sender, number: int, count: int) -> None:
    sender.begin(f"transaction-{number}")
    for key in range(number * count, (number + 1) * count):
        sender.send(str(key), quotation(key))
