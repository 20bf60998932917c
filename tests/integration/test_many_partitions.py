"""Many partitions and many connections with few open files."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from barnabas_process import BarnabasProcess
from broker_facts import create_topics, resident_kib
from eventually import eventually
from wire_client import (
    FETCH_VERSION,
    PRODUCE_VERSION,
    WireClient,
    batch_of,
    fetch_request,
    fetched,
    offset_for,
    produce_request,
    produced,
    read_log,
)

PARTITIONS = 1_000


def value(partition: int) -> bytes:
    return b"of partition %d" % partition


def produce_to_each(client: WireClient, partitions: int, offset: int) -> None:
    """One record to every partition, many requests at a time."""
    for first in range(0, partitions, 100):
        requests = [
            produce_request("many", batch_of(value(n)), partition=n)
            for n in range(first, min(first + 100, partitions))
        ]
        for request in requests:
            client.send(request, PRODUCE_VERSION)
        for request in requests:
            assert produced(client.receive(request, PRODUCE_VERSION)) == (0, offset)


def read_each(client: WireClient, partitions: int) -> list[list[bytes | None]]:
    return [
        [record.value for record in read_log(client, "many", partition=n)]
        for n in range(partitions)
    ]


@pytest.fixture
def report(record_property: Callable[[str, object], None]) -> Iterator[Callable[[str, str], None]]:
    """Figures for whoever looks: they are printed and put into the report, never asserted."""

    def say(name: str, figure: str) -> None:
        record_property(name, figure)
        print(f"{name}: {figure}")

    return say  # type: ignore[return-value]


def test_a_thousand_partitions_work_with_an_open_file_limit_of_1024(
    tmp_path: Path, report: Callable[[str, str], None]
) -> None:
    few_files = ("prlimit", "--nofile=1024:1024")
    with BarnabasProcess(tmp_path, wrapper=few_files) as broker:
        create_topics(broker.bootstrap, "many", partitions=PARTITIONS)
        with WireClient(broker.port) as client:
            produce_to_each(client, PARTITIONS, 0)
            assert read_each(client, PARTITIONS) == [[value(n)] for n in range(PARTITIONS)]
        report("resident size after the load", f"{resident_kib(broker.pid) / 1024:.0f} MiB")
        for end in ("stop", "kill"):
            getattr(broker, end)()
            began = time.monotonic()
            broker.start(same_port=True)
            report(f"start after {end}", f"{time.monotonic() - began:.2f} s")
            report("resident size", f"{resident_kib(broker.pid) / 1024:.0f} MiB")
            with WireClient(broker.port) as client:
                ends = [offset_for(client, "many", -1, partition=n) for n in range(PARTITIONS)]
                assert ends == [1] * PARTITIONS
        with WireClient(broker.port) as client:
            produce_to_each(client, PARTITIONS, 1)
            assert read_each(client, PARTITIONS) == [[value(n)] * 2 for n in range(PARTITIONS)]
        assert "Traceback" not in broker.stop()


def test_more_connections_than_open_files_harm_nobody_who_is_in(tmp_path: Path) -> None:
    few_files = ("prlimit", "--nofile=512:512")
    with BarnabasProcess(tmp_path, wrapper=few_files) as broker, ExitStack() as stack:
        create_topics(broker.bootstrap, "many", partitions=150)
        with WireClient(broker.port) as client:
            produce_to_each(client, 150, 0)
        broker.stop()
        broker.start(same_port=True)  # now it has no log open
        first = stack.enter_context(WireClient(broker.port))
        crowd = [stack.enter_context(WireClient(broker.port)) for _ in range(400)]
        served = 0
        for client in crowd:
            try:
                answer = client.call(fetch_request("many", partition=7), FETCH_VERSION)
                served += fetched(answer).error_code == 0
            except ConnectionError:
                client.close()

        produce_to_each(first, 150, 1)

        assert read_each(first, 150) == [[value(n)] * 2 for n in range(150)]
        assert 100 < served < 250
        assert "refusing" in broker.log
        assert "failed" not in broker.log
        for client in crowd:
            client.close()
        with WireClient(broker.port) as late:
            assert offset_for(late, "many", -1) == 2
        assert "Traceback" not in broker.stop()


def test_the_limit_on_open_files_is_raised_as_far_as_allowed(tmp_path: Path) -> None:
    with (
        BarnabasProcess(tmp_path, wrapper=("prlimit", "--nofile=128:2048")) as broker,
        ExitStack() as stack,
    ):
        create_topics(broker.bootstrap, "many")
        crowd = [stack.enter_context(WireClient(broker.port)) for _ in range(300)]

        assert {offset_for(client, "many", -1) for client in crowd} == {0}


def test_flushing_every_log_at_once_needs_few_open_files(tmp_path: Path) -> None:
    often = ("log.flush.interval.ms=500", "log.flush.offset.checkpoint.interval.ms=500")
    few_files = ("prlimit", "--nofile=256:256")
    with BarnabasProcess(tmp_path, *often, wrapper=few_files) as broker:
        create_topics(broker.bootstrap, "many", partitions=300)
        with WireClient(broker.port) as client:
            produce_to_each(client, 300, 0)
            checkpoint = tmp_path / "recovery-point-offset-checkpoint"

            def all_flushed() -> bool:
                lines = checkpoint.read_text().splitlines() if checkpoint.exists() else []
                return (
                    sum(line.startswith("many ") and line.endswith(" 1") for line in lines) == 300
                )

            eventually(all_flushed)
            produce_to_each(client, 300, 1)
        assert "Too many" not in broker.stop()
