"""The judge of the exactly-once runs sees what it is there to see."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from exactly_once import GaveUp
from exactly_once_checks import KEYS, made, wrong

RECORDS = 2 * KEYS + 10


@dataclass(frozen=True)
class Seen:
    """As much of a message of librdkafka as the judge looks at."""

    number: int
    at: int
    other_value: bytes | None = None

    def value(self) -> bytes:
        return self.other_value or made(self.number)

    def key(self) -> bytes:
        return b"%d" % (self.number % KEYS)

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return self.at


def seen(numbers: list[int]) -> list[Seen]:
    return [Seen(number, at) for at, number in enumerate(numbers)]


def test_every_record_once_and_in_order_is_right() -> None:
    by_key = sorted(range(RECORDS), key=lambda number: (number % KEYS, number))

    assert wrong(seen(list(range(RECORDS))), RECORDS) == []
    assert wrong(seen(by_key), RECORDS) == []


@pytest.mark.parametrize(
    ("numbers", "fault"),
    [
        ([*range(7), *range(8, RECORDS)], "1 are missing: [b'RECORD-7']"),
        (
            [*range(RECORDS), RECORDS - 1],
            (
                "1 are there more than once: "
                f"[\"b'RECORD-209' at 0@209\", \"b'RECORD-209' at 0@{RECORDS}\"]"
            ),
        ),
        (
            [KEYS, *range(KEYS), *range(KEYS + 1, RECORDS)],
            "1 are later than their successors: [\"b'RECORD-0' at 0@1\"]",
        ),
    ],
    ids=["missing", "twice", "late"],
)
def test_a_fault_is_named_with_its_record(numbers: list[int], fault: str) -> None:
    assert wrong(seen(numbers), RECORDS) == [fault]


def test_a_record_of_no_input_is_named() -> None:
    strange = Seen(RECORDS, RECORDS, other_value=b"ABORTED")

    faults = wrong([*seen(list(range(RECORDS))), strange], RECORDS)

    assert "1 are of no input: [\"b'ABORTED' at 0@210\"]" in faults


@pytest.mark.parametrize(
    ("words", "log", "is_explained"),
    [
        (
            "15 message(s) timed out on made [1]\nFailed to end transaction: INVALID_TXN_STATE",
            [],
            True,
        ),
        ("Failed to end transaction: INVALID_TXN_STATE", [], False),
        ("ProducerFencedException: newer", ["x shard: me: took too long, aborted"], True),
        ("ProducerFencedException: newer", [], False),
        ("ProducerFencedException: newer", ["x shard: me-2: took too long, aborted"], False),
        ("INVALID_TXN_STATE", [], False),
        ("KafkaError{FATAL,code=_FENCED}", [], False),
        ("Bootstrap broker (id: -1 isFenced: false) disconnected", [], True),
    ],
)
def test_a_worker_may_be_refused_only_if_it_took_too_long(
    words: str, log: list[str], is_explained: bool
) -> None:
    before = "x shard: me: took too long, aborted"
    gone = GaveUp(transactional_id="me", hired_at=1, last_words=words)

    assert gone.is_explained([before, *log]) is is_explained
