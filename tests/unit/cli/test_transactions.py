from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

import pytest

from barnabas.base import clock
from barnabas.cli.main import run_tool
from barnabas.cli.options import Parsed, UsageError, parse
from barnabas.cli.transactions import COMMAND, check
from barnabas.client.brokers import PartitionPlace, Place
from barnabas.client.errors import ClientError, NotReachableError, RefusedError
from barnabas.client.transaction_admin import (
    ProducerState,
    Transaction,
    TransactionAdmin,
    TransactionListing,
)

Captured = pytest.CaptureFixture[str]


def words(line: str) -> Parsed:
    return parse(COMMAND.options, line.split(), words=COMMAND.words)


def run(line: str) -> int:
    return run_tool("kafka-transactions", "barnabas.cli.transactions", line.split())


@dataclass(slots=True)
class FakeAdmin:
    """An open transaction of producer 5 in t-0; producer 6, of no known id, in t-1."""

    error: ClientError | None = None
    asked: list[object] = field(default_factory=list)
    ids: dict[int, str] = field(default_factory=lambda: {5: "x"})
    open_places: list[Place] = field(default_factory=lambda: [("t", 0)])

    def __enter__(self) -> FakeAdmin:
        return self

    def __exit__(self, *_: object) -> None:
        self.asked.append("closed")

    def _say(self, what: object) -> None:
        self.asked.append(what)
        if self.error is not None:
            raise self.error

    def listings(
        self, *, producer_ids: Collection[int] = (), longer_than_ms: int = -1
    ) -> list[TransactionListing]:
        self._say(("list", set(producer_ids), longer_than_ms))
        return [
            TransactionListing(
                transactional_id=name, coordinator=1, producer_id=number, state="Ongoing"
            )
            for number, name in self.ids.items()
        ]

    def describe(self, transactional_id: str) -> Transaction:
        self._say(("describe", transactional_id))
        if transactional_id != "x":
            raise RefusedError("TRANSACTIONAL_ID_NOT_FOUND", "There is no such transactional id.")
        return Transaction(
            transactional_id="x",
            coordinator=1,
            producer_id=5,
            producer_epoch=2,
            state="Ongoing",
            timeout_ms=60000,
            started_ms=1_000,
            places=self.open_places,
        )

    def places(self, topics: Iterable[str] | None) -> dict[Place, PartitionPlace]:
        self._say(("places", topics))
        return {
            ("t", 0): PartitionPlace(leader=1, replicas=(1, 2)),
            ("t", 1): PartitionPlace(leader=2, replicas=(2,)),
        }

    def producers(
        self, places: Collection[Place], *, broker_id: int | None = None
    ) -> dict[Place, list[ProducerState]]:
        self._say(("producers", list(places), broker_id))
        state = ProducerState(
            producer_id=5,
            producer_epoch=2,
            coordinator_epoch=-1,
            last_sequence=9,
            last_ms=0,
            open_since=17,
        )
        return {
            (topic, number): [replace(state, producer_id=5 + number, open_since=17 + number)]
            for topic, number in places
        }

    def abort(
        self, place: Place, *, producer_id: int, producer_epoch: int, coordinator_epoch: int
    ) -> None:
        self._say(("abort", place, producer_id, producer_epoch, coordinator_epoch))

    def terminate(self, transactional_id: str) -> None:
        self._say(("terminate", transactional_id))


class Now:
    def now_ms(self) -> int:
        return 20 * 60_000


@pytest.fixture
def admin(monkeypatch: pytest.MonkeyPatch) -> FakeAdmin:
    fake = FakeAdmin()

    def connect(properties: Mapping[str, str]) -> FakeAdmin:
        assert properties["bootstrap.servers"] == "localhost:9092"
        return fake

    monkeypatch.setattr(TransactionAdmin, "connect", connect)
    monkeypatch.setattr(clock, "SYSTEM_CLOCK", Now())
    return fake


@pytest.mark.parametrize(
    "line",
    [
        "list",
        "list --duration-filter 0 --transactional-id-pattern a.* --json",
        "describe --transactional-id x",
        "describe-producers --topic t --partition 0 --broker-id 1",
        "abort --topic t --partition 0 --start-offset 5",
        "abort --topic t --partition 0 --producer-id 5 --producer-epoch 0 --coordinator-epoch -1",
        "find-hanging --broker-id 1",
        "find-hanging --topic t --partition 0 --max-transaction-timeout -1",
        "forceTerminateTransaction --transactionalId x",
        "forceTerminateTransaction --transactional-id x",
    ],
)
def test_options_that_go_together(line: str) -> None:
    assert check(words(line)) == line.split(maxsplit=1)[0]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("", "a command is needed: list, describe, describe-producers, abort, find-hanging, force"),
        ("lst", '"lst" is not a command: list, '),
        ("describe", "--transactional-id is missing"),
        ("forceTerminateTransaction", "--transactional-id is missing"),
        ("describe-producers --topic t", "--partition is missing"),
        ("describe-producers --partition 0", "--topic is missing"),
        ("abort --topic t --partition 0", "abort needs --start-offset, or --producer-id"),
        ("abort --topic t --partition 0 --producer-id 1", "--producer-epoch is missing"),
        (
            "abort --topic t --partition 0 --producer-id 1 --producer-epoch 1",
            "--coordinator-epoch is missing",
        ),
        ("find-hanging", "find-hanging needs --topic or --broker-id"),
        ("find-hanging --broker-id 1 --partition 0", "--partition needs --topic"),
        ("list --topic t", "--topic cannot be used with list"),
        ("abort --json --topic t", "--json cannot be used with abort"),
        ("list --transactional-id-pattern [", "--transactional-id-pattern: .* not a regular"),
    ],
)
def test_options_that_do_not_go_together(line: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        check(words(line))


def test_the_list(admin: FakeAdmin, capsys: Captured) -> None:
    admin.ids[6] = "xy"
    assert run("list --duration-filter 9") == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()[1:]] == ["x", "xy"]
    assert admin.asked == [("list", set(), 9), "closed"]

    assert run("list --transactional-id-pattern x --json") == 0
    assert [each["transactional_id"] for each in json.loads(capsys.readouterr().out)] == ["x"]


def test_a_description(admin: FakeAdmin, capsys: Captured) -> None:
    assert run("describe --transactional-id x") == 0
    assert "\t1199000" in capsys.readouterr().out
    assert run("describe --transactional-id x --json") == 0
    assert json.loads(capsys.readouterr().out)["start_time_ms"] == 1000


def test_producers(admin: FakeAdmin, capsys: Captured) -> None:
    assert run("describe-producers --topic t --partition 1 --broker-id 2") == 0
    assert capsys.readouterr().out.splitlines()[1].split()[0] == "6"
    assert admin.asked == [("producers", [("t", 1)], 2), "closed"]
    assert run("describe-producers --topic t --partition 1 --json") == 0
    assert json.loads(capsys.readouterr().out)[0]["transaction_start_offset"] == 18


def test_a_transaction_is_aborted_by_where_it_begins(admin: FakeAdmin, capsys: Captured) -> None:
    assert run("abort --topic t --partition 1 --start-offset 18") == 0
    assert ("abort", ("t", 1), 6, 2, 0) in admin.asked
    assert capsys.readouterr() == ("", "")

    assert run("abort --topic t --partition 1 --start-offset 17") == 1
    assert capsys.readouterr().err == (
        "kafka-transactions: Could not find any open transactions starting at offset 17 on "
        "partition t-1\n"
    )


def test_a_transaction_is_aborted_by_its_producer(admin: FakeAdmin) -> None:
    line = "abort --topic t --partition 1 --producer-id 8 --producer-epoch 3 --coordinator-epoch"
    assert run(f"{line} 4") == 0
    assert run(f"{line} -1") == 0
    assert [each for each in admin.asked if each != "closed"] == [
        ("abort", ("t", 1), 8, 3, 4),
        ("abort", ("t", 1), 8, 3, 0),
    ]


def test_what_no_coordinator_cares_for_hangs(admin: FakeAdmin, capsys: Captured) -> None:
    assert run("find-hanging --topic t") == 0
    (row,) = capsys.readouterr().out.splitlines()[1:]
    assert row.split() == ["t", "1", "6", "2", "-1", "18", "0", "20"]
    assert admin.asked == [
        ("places", ["t"]),
        ("producers", [("t", 0), ("t", 1)], None),
        ("list", {5, 6}, -1),
        ("describe", "x"),
        "closed",
    ]


def test_an_id_that_is_gone_does_not_end_its_transaction(
    admin: FakeAdmin, capsys: Captured
) -> None:
    admin.ids[6] = "gone"
    assert run("find-hanging --topic t --partition 1 --json") == 0
    assert [each["producer_id"] for each in json.loads(capsys.readouterr().out)] == [6]


def test_the_search_is_limited_to_the_replicas_of_a_broker(
    admin: FakeAdmin, capsys: Captured
) -> None:
    assert run("find-hanging --broker-id 1") == 0
    assert len(capsys.readouterr().out.splitlines()) == 1
    assert admin.asked[:2] == [("places", None), ("producers", [("t", 0)], 1)]


@pytest.mark.parametrize(("minutes", "found"), [("", 1), ("20", 0), ("19", 1), ("-1", 1)])
def test_producers_that_wrote_lately_are_passed_over(
    admin: FakeAdmin, capsys: Captured, minutes: str, found: int
) -> None:
    limit = f"--max-transaction-timeout {minutes}" if minutes else ""
    assert run(f"find-hanging --topic t --partition 1 {limit}") == 0
    assert len(capsys.readouterr().out.splitlines()) == 1 + found


def test_ids_are_terminated(admin: FakeAdmin, capsys: Captured) -> None:
    assert run("forceTerminateTransaction --transactionalId x") == 0
    assert admin.asked == [("terminate", "x"), "closed"]
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("list", "Failed to list transactions"),
        (
            "describe --transactional-id x",
            "Failed to describe transaction state of transactional-id `x`",
        ),
        (
            "describe-producers --topic t --partition 0",
            "Failed to describe producers for partition t-0 on leader",
        ),
        (
            "describe-producers --topic t --partition 0 --broker-id 3",
            "Failed to describe producers for partition t-0 on broker 3",
        ),
        (
            "abort --topic t --partition 0 --start-offset 1",
            "Failed to validate producer state for partition t-0",
        ),
        ("find-hanging --topic t", "Failed to describe topics"),
        (
            "find-hanging --topic t --partition 0",
            "Failed to describe producers for 1 partitions on their leaders",
        ),
        (
            "forceTerminateTransaction --transactional-id x",
            "Failed to force terminate transactionalId `x`",
        ),
    ],
)
def test_what_failed_goes_before_why(
    admin: FakeAdmin, capsys: Captured, line: str, what: str
) -> None:
    admin.error = RefusedError("REQUEST_TIMED_OUT", "Too late.")
    assert run(line) == 1
    assert capsys.readouterr().err == f"kafka-transactions: {what}: Too late.\n"


def test_a_broker_that_is_not_there_says_all(admin: FakeAdmin, capsys: Captured) -> None:
    admin.error = NotReachableError("h:1")
    assert run("list") == 1
    assert capsys.readouterr().err.startswith("broker not reachable at h:1")
