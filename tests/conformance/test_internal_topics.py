"""The internal topics are written in Apache Kafka's own formats: its formatters read ours.

The same groups and transactions are made on both brokers, and what Apache Kafka's tools print of
them is the same, but for ids, times and what releases after 4.0 have added.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from broker_facts import create_topics
from coordinated import CLASSIC, OFFSETS, PARTITIONS, TOPIC, TRANSACTIONS, Coordinated
from eventually import eventually
from harness.apache import ApacheBroker
from harness.barnabas import BarnabasBroker
from harness.brokers import Broker
from harness.jvm import Jvm
from harness.side_by_side import ours, theirs
from harness.transcript import CONSOLE_CONSUMER, DUMP_LOG
from wire_client import LIST_OFFSETS_VERSION, WireClient, read_log

from barnabas.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)

SETTINGS = {
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "500",
}
UNIQUE = re.compile(r"-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
TIMES = {
    "commitTimestamp",
    "currentStateTimestamp",
    "transactionLastUpdateTimestampMs",
    "transactionStartTimestampMs",
}
GROUP_METADATA = 2
SINCE_4_1 = {"version", "topicId"}
"""A commit has the id of its topic, and for that a newer version."""
FORMATTERS = {
    "OffsetsMessageFormatter": OFFSETS,
    "GroupMetadataMessageFormatter": OFFSETS,
    "TransactionLogMessageFormatter": TRANSACTIONS,
}


class Filled:
    """A broker with groups and transactions of every kind, and what its logs hold."""

    def __init__(self, broker: Broker) -> None:
        broker.start()
        self.broker = broker
        create_topics(broker.bootstrap, TOPIC, partitions=PARTITIONS)
        with WireClient(int(broker.bootstrap.rpartition(":")[2])) as client:
            eventually(lambda: is_led(client))
            Coordinated(client).fill()
            self.logs = {t: read_log(client, t) for t in (OFFSETS, TRANSACTIONS)}


def is_led(client: WireClient) -> bool:
    """All partitions of the topic have a leader that knows."""
    wanted = [ListOffsetsPartition(partition_index=n, timestamp=-1) for n in range(PARTITIONS)]
    request = ListOffsetsRequest(topics=[ListOffsetsTopic(name=TOPIC, partitions=wanted)])
    (topic,) = client.call(request, LIST_OFFSETS_VERSION).topics
    return not any(partition.error_code for partition in topic.partitions)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Filled]]:
    brokers: list[Broker] = [
        ApacheBroker(tmp_path_factory.mktemp("apache"), SETTINGS),
        BarnabasBroker(tmp_path_factory.mktemp("barnabas"), SETTINGS),
    ]
    try:
        yield {broker.name: Filled(broker) for broker in brokers}
    finally:
        for broker in brokers:
            broker.discard()


def printed(jvm: Jvm, filled: Filled, formatter: str) -> list[Any]:
    """What a formatter makes of a topic, parsed; ids and times made equal."""
    run = theirs(jvm, CONSOLE_CONSUMER, filled.broker, asking(filled, formatter))
    assert run.status == 0, run.err
    return [normal(value) for value in documents(run.out)]


def asking(filled: Filled, formatter: str) -> str:
    """The command line that shows all records of a formatter's topic."""
    topic = FORMATTERS[formatter]
    return (
        f"--topic {topic} --partition 0 --offset earliest "
        f"--max-messages {len(data_records(filled, topic))} "
        f"--formatter org.apache.kafka.tools.consumer.{formatter}"
    )


def documents(text: str) -> list[Any]:
    """Documents of JSON that follow each other, with or without blanks between."""
    decoder, text, found = json.JSONDecoder(), text.strip(), []
    while text:
        value, end = decoder.raw_decode(text)
        found.append(value)
        text = text[end:].lstrip()
    return found


def data_records(filled: Filled, topic: str) -> list[Any]:
    """Without the markers, which a consumer does not see: their keys have 4 bytes."""
    return [record for record in filled.logs[topic] if record.key and len(record.key) != 4]


def normal(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {k: v for k, v in value.items() if k not in SINCE_4_1}
        if "assignment" in kept:
            kept["assignment"] = len(kept["assignment"])  # who gets what depends on who was first
        if "leader" in kept:
            kept["leader"] = kept["leader"] in [member["memberId"] for member in kept["members"]]
        return {k: 0 if k in TIMES and v != -1 else normal(v) for k, v in kept.items()}
    if isinstance(value, list):
        return sorted((normal(item) for item in value), key=json.dumps)
    return UNIQUE.sub("", value) if isinstance(value, str) else value


def content(records: list[Any]) -> list[str]:
    """In alphabetical order: markers of transactions are written whenever their turn comes.

    Left out is what only Apache Kafka writes: a group of generation 0 before anyone has joined, and
    that a group is gone of which there was no such record.
    """
    return sorted(
        json.dumps(record, sort_keys=True)
        for record in records
        if record["key"]["type"] != GROUP_METADATA
        or (record["value"] and record["value"]["data"]["generation"] > 0)
    )


@pytest.mark.parametrize("formatter", FORMATTERS)
def test_formatters_print_the_same(jvm: Jvm, filled: dict[str, Filled], formatter: str) -> None:
    apaches, barnabas = (printed(jvm, filled[name], formatter) for name in ("apache", "barnabas"))

    assert len(barnabas) > 5
    assert content(barnabas) == content(apaches)


@pytest.mark.parametrize("formatter", FORMATTERS)
@pytest.mark.parametrize("name", ["apache", "barnabas"])
def test_our_own_consumer_prints_what_apaches_does(
    jvm: Jvm, filled: dict[str, Filled], name: str, formatter: str
) -> None:
    line = asking(filled[name], formatter)
    expected = theirs(jvm, CONSOLE_CONSUMER, filled[name].broker, line)

    shown = ours(CONSOLE_CONSUMER, filled[name].broker, line)

    assert shown.status == 0, shown.err
    assert len(shown.out.splitlines()) > 5
    assert documents(shown.out) == documents(expected.out)


@pytest.mark.parametrize(
    ("topic", "decoder"),
    [(OFFSETS, "--offsets-decoder"), (TRANSACTIONS, "--transaction-log-decoder")],
)
def test_every_record_is_decoded(
    jvm: Jvm, filled: dict[str, Filled], topic: str, decoder: str
) -> None:
    filling = filled["barnabas"]
    file = filling.broker.data_dir / f"{topic}-0" / f"{0:020}.log"

    run = jvm.tool(DUMP_LOG, "--files", str(file), decoder)

    assert run.status == 0, run.err
    assert "isvalid: false" not in run.out
    decoded = re.findall(r'(?m)^\| offset: .* key: (\{"type".*?\}\}) payload: (.*)$', run.out)
    assert len(decoded) == len(data_records(filling, topic))
    assert all(payload.startswith(('{"version"', "<DELETE>")) for _, payload in decoded)
    if topic == OFFSETS:
        kinds = {json.loads(key)["type"] for key, _ in decoded}
        assert kinds >= {"1", "2", "3", "5", "6", "7", "8"}
        groups = {json.loads(key)["data"]["group"] for key, _ in decoded if '"1"' in key}
        assert groups >= {name for name in CLASSIC if name in {"eager", "simple", "pending"}}
