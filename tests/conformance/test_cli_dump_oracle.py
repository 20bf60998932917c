"""`kafka-dump-log` prints what DumpLogSegments prints of the same files, whoever wrote them.

Each broker fills its directory and stops; then both tools look at every file in it.
"""

from __future__ import annotations

import math
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from broker_facts import create_topics
from confluent_kafka import Producer
from coordinated import PARTITIONS, TOPIC, Coordinated
from eventually import eventually
from harness.apache import ApacheBroker
from harness.barnabas import BarnabasBroker
from harness.brokers import Broker
from harness.clients import How, JavaClient, Record
from harness.jvm import Jvm
from harness.side_by_side import BIN, JAVA_NOISE
from harness.transcript import DUMP_LOG
from wire_client import WireClient

BASE_MS = 1_700_000_000_000
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
KINDS: dict[str, type[Broker]] = {"apache": ApacheBroker, "barnabas": BarnabasBroker}
SETTINGS = {
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "log.cleaner.backoff.ms": "100",
    "log.retention.ms": "-1",
    "group.initial.rebalance.delay.ms": "500",
}
COMPACTED = {
    "cleanup_policy": "compact",
    "segment_bytes": "1048576",
    "min_cleanable_dirty_ratio": "0.001",
    "segment_ms": "1000",
}
SUFFIXES = (".log", ".index", ".timeindex", ".txnindex", ".snapshot", ".checkpoint")


def numbered(n: int, size: int = 300) -> Record:
    return Record(
        key=None if n % 5 == 0 else b"key-%d" % (n % 7),
        value=None if n % 11 == 0 else (b"value-%d \xff\xc3\xa9 " % n).ljust(size, b"."),
        headers=(("h", b"%d" % n), ("é", None)) if n % 3 else (),
        timestamp=BASE_MS + 1_000 * n,
    )


def fill(jvm: Jvm, broker: Broker) -> None:
    """A topic for each codec, one that rolls, one with the broker's time, one that is compacted,
    transactions that were committed and aborted, and groups of every kind.
    """
    client = JavaClient(jvm, broker)
    for codec in CODECS:
        client.create_topic(codec, index_interval_bytes="1000")
        for batch in range(6):
            client.produce(codec, [numbered(20 * batch + n) for n in range(20)], How(codec=codec))
    client.create_topic("rolled", segment_bytes="1048576", segment_index_bytes="1000")
    for batch in range(12):
        client.produce("rolled", [numbered(batch * 2 + n, 100_000) for n in range(2)])
    client.create_topic("append-time", message_timestamp_type="LogAppendTime")
    client.produce("append-time", [numbered(n) for n in range(5)], How(idempotent=True))
    transact(broker, "transactions", client)
    compact(broker, client)
    create_topics(broker.bootstrap, TOPIC, partitions=PARTITIONS)
    client.settle()
    with WireClient(int(broker.bootstrap.rpartition(":")[2])) as wire:
        Coordinated(wire).fill()


def transact(broker: Broker, topic: str, client: JavaClient) -> None:
    client.create_topic(topic)
    for name in ("one", "two"):
        producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": name})
        producer.init_transactions(60)
        for number in range(4):
            producer.begin_transaction()
            for _ in range(3):
                producer.produce(topic, f"{name} {number}", key=name)
            producer.flush(60)
            producer.commit_transaction(60) if number % 2 else producer.abort_transaction(60)


def compact(broker: Broker, client: JavaClient) -> None:
    """Waits until the cleaner has been there."""
    client.create_topic("compacted", **COMPACTED)
    for _ in range(24):
        records = [numbered(n, 100_000) for n in range(1, 5)]
        client.produce("compacted", [r for r in records if r.key is not None])
    folder = broker.data_dir / "compacted-0"
    eventually(lambda: (log_bytes(folder) or math.inf) < 4_000_000, timeout_s=120)


def log_bytes(folder: Path) -> int | None:
    """None while the cleaner takes files away."""
    try:
        return sum(file.stat().st_size for file in folder.glob("*.log"))
    except FileNotFoundError:
        return None


@pytest.fixture(scope="module")
def written(target: Broker, jvm: Jvm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker of the target's kind that has written all this, and is stopped."""
    broker = KINDS[target.name](tmp_path_factory.mktemp("written"), SETTINGS)
    try:
        broker.start()
        fill(jvm, broker)
        broker.stop()
        yield broker
    finally:
        broker.discard()


@dataclass(frozen=True, slots=True, kw_only=True)
class Dump:
    """What a tool said of some files: on stdout in order, on stderr in any."""

    status: int
    lines: list[str]
    told: list[str]


def ours(files: Sequence[Path], *arguments: str) -> Dump:
    run = subprocess.run(
        [BIN / "kafka-dump-log", "--files", ",".join(map(str, files)), *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return Dump(
        status=run.returncode, lines=run.stdout.splitlines(), told=sorted(run.stderr.splitlines())
    )


def theirs(jvm: Jvm, files: Sequence[Path], *arguments: str) -> Dump:
    run = jvm.tool(DUMP_LOG, "--files", ",".join(map(str, files)), *arguments)
    return Dump(
        status=run.status,
        lines=run.out.splitlines(),
        told=sorted(JAVA_NOISE.sub("", run.err).splitlines()),
    )


def files_of(broker: Broker, folder: str = "*") -> list[Path]:
    return sorted(
        file
        for file in broker.data_dir.glob(f"{folder}/*")
        if file.suffix in SUFFIXES and not file.parent.name.endswith("-delete")
    )


@pytest.mark.parametrize(
    "line",
    [
        "",
        "--deep-iteration",
        "--print-data-log",
        "--print-data-log --skip-record-metadata",
        "--max-bytes 7000 --deep-iteration",
        "--verify-index-only",
        "--index-sanity-check",
        "--value-decoder-class org.apache.kafka.tools.api.StringDecoder",
    ],
)
def test_every_file_is_dumped_alike(jvm: Jvm, written: Broker, line: str) -> None:
    files = files_of(written)
    mine = ours(files, *line.split())

    assert {file.suffix for file in files} >= {".log", ".index", ".timeindex", ".txnindex"}
    assert mine == theirs(jvm, files, *line.split())


@pytest.mark.parametrize(
    ("folder", "decoder"),
    [
        ("__consumer_offsets-0", "--offsets-decoder"),
        ("__transaction_state-0", "--transaction-log-decoder"),
        ("__cluster_metadata-0", "--cluster-metadata-decoder"),
        ("__cluster_metadata-0", "--cluster-metadata-decoder --skip-record-metadata"),
        ("transactions-0", "--offsets-decoder"),
        ("transactions-0", "--share-group-state-decoder"),
    ],
)
def test_internal_records_are_decoded_alike(
    jvm: Jvm, written: Broker, folder: str, decoder: str
) -> None:
    files = [file for file in files_of(written, folder) if file.suffix == ".log"]
    mine, java = ours(files, *decoder.split()), theirs(jvm, files, *decoder.split())

    assert [without_reason(line) for line in mine.lines] == [
        without_reason(line) for line in java.lines
    ]
    assert (mine.status, mine.told) == (java.status, java.told)


def without_reason(line: str) -> str:
    """Why a record of somebody else's cannot be decoded is said in each tool's own words."""
    return re.sub(r"(Error at offset \d+, skipping\.).*", r"\1", line)


LOG, INDEX, TIMES = (f"{0:020}{suffix}" for suffix in (".log", ".index", ".timeindex"))
SNAPSHOT = f"{120:020}.snapshot"


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """Bytes put into a file, or the file cut off before them."""

    file: str
    at: int
    put: bytes = b""
    cut: bool = False
    line: str = ""

    def do(self, folder: Path) -> Path:
        path = folder / self.file
        data = path.read_bytes()
        at = len(data) if self.at < 0 else self.at
        rest = b"" if self.cut else data[at + len(self.put) :]
        path.write_bytes(data[:at] + self.put + rest)
        return path


@pytest.mark.parametrize(
    "damage",
    [
        Damage(file=LOG, at=-1, put=bytes(100)),
        Damage(file=LOG, at=-1, put=b"no batch, but long enough to look like one"),
        Damage(file=LOG, at=10_000, cut=True),
        Damage(file=LOG, at=100, put=b"\xff"),
        Damage(file=LOG, at=8, put=b"\0\0\0\5"),
        Damage(file=LOG, at=70, put=b"\xff" * 6, line="--print-data-log"),
        Damage(file=INDEX, at=3, put=b"\5"),
        Damage(file=INDEX, at=4, put=b"\x7f"),
        Damage(file=INDEX, at=13, cut=True, line="--index-sanity-check"),
        Damage(
            file=INDEX,
            at=0,
            put=b"\xff\xff\xff\xf0\0\0\0\0",
            cut=True,
            line="--index-sanity-check",
        ),
        Damage(file=TIMES, at=7, put=b"\5"),
        Damage(file=TIMES, at=12, put=bytes(8), line="--verify-index-only"),
        Damage(file=TIMES, at=11, put=b"\5"),
        Damage(file=TIMES, at=8, put=b"\0\0\xff\xff"),
        Damage(file=TIMES, at=20, cut=True, line="--index-sanity-check"),
        Damage(file=TIMES, at=12, put=bytes(12), cut=True, line="--index-sanity-check"),
        Damage(file=SNAPSHOT, at=8, put=b"\xff"),
        Damage(file=SNAPSHOT, at=1, put=b"\x09"),
    ],
    ids=lambda damage: f"{damage.file[20:]}-{damage.at}{damage.line}",
)
def test_damage_is_found_where_they_find_it(
    jvm: Jvm, written: Broker, tmp_path: Path, damage: Damage
) -> None:
    """They stop at what they cannot read, with a stack trace; we go on, and say it in the end."""
    folder = tmp_path / "none-0"
    shutil.copytree(written.data_dir / "none-0", folder)
    path = damage.do(folder)

    mine = ours([path], *damage.line.split())  # first: theirs mends indexes when it closes them
    java = theirs(jvm, [path], *damage.line.split())

    assert mine.status == 1
    assert mine.lines[: len(java.lines)] == java.lines
    assert java.status == 1 or mine.lines == java.lines
    (last,) = [line for line in mine.told if line.startswith("kafka-dump-log: 1 file is damaged")]
    told = [line for line in java.told if not line.startswith("Snapshot ")]
    assert java.status == 1 or [line for line in mine.told if line != last] == told
