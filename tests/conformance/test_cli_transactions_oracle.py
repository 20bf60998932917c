"""Our tool for transactions prints what Apache Kafka's prints of the same broker.

What differs on purpose is undone before comparing: rows that are in the order of one of Java's hash
tables are sorted, and reasons are in the words of whoever gives them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from confluent_kafka import Producer
from harness.brokers import Broker
from harness.clients import JavaClient
from harness.jvm import Jvm
from harness.side_by_side import Outcome, ours, theirs
from harness.transcript import TRANSACTIONS
from wire_client import WireClient, batch_of, produce_request, produced

OPEN, DONE, UNDONE = "tx-open", "tx-done", "tx-undone-and-of-a-long-name"
PARTITIONS = 4
BEFORE_IMPLICIT_ADDING = 11
"""The last version of Produce that does not add its partition to the transaction by itself."""


@dataclass(slots=True)
class Cluster:
    """`tx-open` has a transaction open in partitions 0 and 1, `tx-done` has committed one in 1,
    `tx-undone-...` has aborted one in 2.
    """

    broker: Broker
    jvm: Jvm

    def both(self, line: str) -> tuple[Outcome, Outcome]:
        mine = ours(TRANSACTIONS, self.broker, line)
        return mine, theirs(self.jvm, TRANSACTIONS, self.broker, line)


def begin(broker: Broker, transactional_id: str, topic: str, *partitions: int) -> Producer:
    producer = Producer(
        {"bootstrap.servers": broker.bootstrap, "transactional.id": transactional_id}
    )
    producer.init_transactions(60)
    producer.begin_transaction()
    for number in partitions:
        producer.produce(topic, b"x", partition=number)
    assert producer.flush(60) == 0
    return producer


@pytest.fixture(scope="module")
def cluster(jvm: Jvm, target: Broker) -> Iterator[Cluster]:
    JavaClient(jvm, target).create_topic("tx", partitions=PARTITIONS)
    still_open = begin(target, OPEN, "tx", 0, 1)
    begin(target, DONE, "tx", 1).commit_transaction(60)
    begin(target, UNDONE, "tx", 2).abort_transaction(60)
    yield Cluster(target, jvm)
    still_open.abort_transaction(60)


def comparable(outcome: Outcome) -> Outcome:
    """Rows in order; without how long a transaction has been open, which goes on."""
    out = re.sub(r"(\t1\d{12} *\t)(\d+ *)(?=\t.*\t$)", r"\1AGE", outcome.out, flags=re.MULTILINE)
    out = re.sub(r"tx-[01],tx-[01]", "tx-0,tx-1", out)
    heading, *rows = out.splitlines(keepends=True)
    return Outcome(status=outcome.status, out=heading + "".join(sorted(rows)), err=outcome.err)


@pytest.mark.parametrize(
    ("line", "rows"),
    [
        ("list", 3),
        ("list --duration-filter 0", 3),
        ("list --duration-filter 1000000000", 0),
        (f"describe --transactional-id {OPEN}", 1),
        (f"describe --transactional-id {DONE}", 1),
        ("describe-producers --topic tx --partition 0", 1),
        ("describe-producers --topic tx --partition 1", 2),
        ("describe-producers --topic tx --partition 2 --broker-id 1", 1),
        ("describe-producers --topic tx --partition 3", 0),
        ("find-hanging --broker-id 1", 0),
        ("find-hanging --topic tx --max-transaction-timeout -1", 0),
        ("find-hanging --topic tx --partition 0 --max-transaction-timeout -1", 0),
    ],
)
def test_transactions_are_shown_alike(cluster: Cluster, line: str, rows: int) -> None:
    mine, java = cluster.both(line)
    assert comparable(mine) == comparable(java)
    shown = re.findall(r"(?m)^(?!Transactional|Coordinator|Producer|Topic).+$", mine.out)
    ids = [row for row in shown if "list" not in line or row.startswith("tx-")]
    assert (mine.status, len(ids)) == (0, rows)


def test_ids_are_chosen_by_a_pattern_also_where_the_broker_cannot(cluster: Cluster) -> None:
    mine, java = cluster.both("list --transactional-id-pattern tx-(open|done)")
    assert mine.out.count("\ntx-") == 2
    if cluster.broker.name == "apache":  # Java leaves it to a broker that knows ListTransactions v2
        assert comparable(mine) == comparable(java)
    else:
        assert java.status == 1


@pytest.mark.parametrize(
    "line",
    [
        "",
        "nonsense",
        "describe",
        "describe --transactional-id none",
        "describe-producers --topic tx",
        "describe-producers --topic tx --partition some",
        "find-hanging",
        "find-hanging --broker-id 1 --partition 0",
        "abort --topic tx --partition 0",
        "abort --topic tx --partition 0 --producer-id 1",
        "abort --topic tx --partition 0 --producer-id 1 --producer-epoch 1",
        "abort --topic tx --partition 0 --start-offset 99",
        "list --transactional-id-pattern [",
        "forceTerminateTransaction",
    ],
)
def test_what_they_refuse_we_refuse(cluster: Cluster, line: str) -> None:
    mine, java = cluster.both(line)
    assert (mine.status, java.status) == (1, 1)
    assert (mine.out, mine.err.count("\n")) == ("", 1)


def test_an_id_is_terminated_alike(cluster: Cluster) -> None:
    JavaClient(cluster.jvm, cluster.broker).create_topic("ending")
    opened = [begin(cluster.broker, f"ending-{who}", "ending", 0) for who in "oj"]
    mine = ours(
        TRANSACTIONS, cluster.broker, "forceTerminateTransaction --transactionalId ending-o"
    )
    java = theirs(
        cluster.jvm,
        TRANSACTIONS,
        cluster.broker,
        "forceTerminateTransaction --transactionalId ending-j",
    )
    assert mine == java == Outcome(status=0, out="", err="")

    def described(who: str) -> list[str]:
        line = f"describe --transactional-id ending-{who}"
        row = theirs(cluster.jvm, TRANSACTIONS, cluster.broker, line).out.splitlines()[1]
        cells = [cell.strip() for cell in row.split("\t")]
        return [*cells[3:6], cells[8]]  # epoch, state, time limit, partitions

    assert described("o") == described("j")
    assert described("o")[3] == ""
    producers = theirs(
        cluster.jvm, TRANSACTIONS, cluster.broker, "describe-producers --topic ending --partition 0"
    ).out
    assert producers.count("None") == len(opened)


def hang(broker: Broker, topic: str, partition: int, producer_id: int) -> None:
    """A batch of a transaction that no coordinator has been told of."""
    batch = batch_of(
        b"x", producer_id=producer_id, producer_epoch=0, base_sequence=0, transactional=True
    )
    request = produce_request(topic, batch, partition=partition)
    request.transactional_id = "lost"
    with WireClient(int(broker.bootstrap.rpartition(":")[2])) as client:
        code, _ = produced(client.call(request, BEFORE_IMPLICIT_ADDING))
    assert code == 0


def test_what_hangs_is_found_and_aborted_alike(
    jvm: Jvm, target: Broker, launch: Callable[..., Broker]
) -> None:
    broker = launch(type(target), "hanging", transaction_partition_verification_enable="false")
    cluster = Cluster(broker, jvm)
    JavaClient(jvm, broker).create_topic("h", partitions=PARTITIONS)
    for partition in (0, 1, 2):
        hang(broker, "h", partition, 7000 + partition)

    for scope in ("--topic h", "--topic h --partition 1", "--broker-id 1"):
        mine, java = cluster.both(f"find-hanging {scope} --max-transaction-timeout -1")
        assert comparable(mine) == comparable(java)
        assert mine.out.count("\n") == (2 if "partition" in scope else 4)

    abort = "abort --topic h --partition"
    by_offset = ours(TRANSACTIONS, broker, f"{abort} 0 --start-offset 0")
    by_java = theirs(jvm, TRANSACTIONS, broker, f"{abort} 1 --start-offset 0")
    by_producer = ours(
        TRANSACTIONS,
        broker,
        f"{abort} 2 --producer-id 7002 --producer-epoch 0 --coordinator-epoch -1",
    )
    assert by_offset == by_java == by_producer == Outcome(status=0, out="", err="")

    states = []
    for partition in (0, 1, 2):
        mine, java = cluster.both(f"describe-producers --topic h --partition {partition}")
        assert mine == java
        row = [cell.strip() for cell in mine.out.splitlines()[1].split("\t")]
        states.append([row[1], row[2], row[3], row[5]])
    assert states == [["0", "0", "0", "None"]] * 3
    mine, java = cluster.both("find-hanging --topic h --max-transaction-timeout -1")
    assert mine == java
    assert mine.out.count("\n") == 1
