"""Transactions as records: the bytes that Apache Kafka 4.3.1 writes."""

from __future__ import annotations

import pytest
from transactions import A0, A1, B0

from barnabas.coordinator import runtime_codec
from barnabas.coordinator.txn.machine import Transaction, TransactionState
from barnabas.coordinator.txn.records import KEY_TYPES, record_of, tombstone, transaction_of
from barnabas.protocol.errors import DecodeError

S = TransactionState
EMPTY = Transaction(
    transactional_id="v",
    producer_id=1,
    producer_epoch=0,
    previous_producer_id=1,
    timeout_ms=60_000,
    state=S.EMPTY,
    updated_ms=0x1A1E12FF84C,
)
STARTED = EMPTY.joined_by(frozenset((B0, A0)), client_version=2, now_ms=0x1A1E12FF871)
GROWN = STARTED.joined_by(frozenset((A1,)), client_version=2, now_ms=0x1A1E12FF888)
KEY = bytes.fromhex("0000 0001 76")
GOLDEN = [
    (
        EMPTY,
        2,
        (
            "0001 0000000000000001 0000 0000ea60 00 00 000001a1e12ff84c ffffffffffffffff"
            "01 00 08 0000000000000001"
        ),
    ),
    (
        STARTED,
        2,
        (
            "0001 0000000000000001 0000 0000ea60 01"
            "03 0261 02 00000000 00 0262 02 00000000 00 000001a1e12ff871 000001a1e12ff871"
            "02 00 08 0000000000000001 02 02 0002"
        ),
    ),
    (
        GROWN,
        1,
        (
            "0001 0000000000000001 0000 0000ea60 01"
            "03 0261 03 00000000 00000001 00 0262 02 00000000 00 000001a1e12ff888 000001a1e12ff871"
            "02 00 08 0000000000000001 02 02 0002"
        ),
    ),
    (
        EMPTY,
        0,
        "0000 0000000000000001 0000 0000ea60 00 ffffffff 000001a1e12ff84c ffffffffffffffff",
    ),
    (
        STARTED,
        0,
        (
            "0000 0000000000000001 0000 0000ea60 01 00000002"
            "0001 61 00000001 00000000 0001 62 00000001 00000000 000001a1e12ff871 000001a1e12ff871"
        ),
    ),
]


@pytest.mark.parametrize(("transaction", "level", "expected"), GOLDEN)
def test_records_are_byte_for_byte_those_of_kafka(
    transaction: Transaction, level: int, expected: str
) -> None:
    key, value = runtime_codec.encode(record_of(transaction, transaction_version=level))
    assert key == KEY
    assert value is not None
    assert value.hex() == bytes.fromhex(expected).hex()


@pytest.mark.parametrize(("transaction", "level", "stored"), GOLDEN)
def test_and_are_read_back(transaction: Transaction, level: int, stored: str) -> None:
    record = runtime_codec.decode(KEY_TYPES, KEY, bytes.fromhex(stored))
    assert record is not None
    found = transaction_of(record)
    if level:
        assert found == transaction
    else:  # what the first version has no room for
        assert (found.previous_producer_id, found.client_version) == (-1, 0)
        assert (found.partitions, found.state) == (transaction.partitions, transaction.state)


def test_equal_transactions_have_equal_bytes() -> None:
    one = STARTED.joined_by(frozenset((A1,)), client_version=2, now_ms=0x1A1E12FF888)
    other = EMPTY.joined_by(frozenset((A1, A0)), client_version=2, now_ms=0x1A1E12FF871)
    other = other.joined_by(frozenset((B0,)), client_version=2, now_ms=0x1A1E12FF888)
    assert runtime_codec.encode(record_of(one, transaction_version=2)) == runtime_codec.encode(
        record_of(other, transaction_version=2)
    )


def test_a_tombstone_has_no_value() -> None:
    assert runtime_codec.encode(tombstone("v")) == (KEY, None)


@pytest.mark.parametrize("state", [6, 7, 8, -1])
def test_states_that_are_not_written_are_not_read(state: int) -> None:
    record = record_of(STARTED, transaction_version=2)
    assert record.value is not None
    record.value.transaction_status = state  # type: ignore[attr-defined]
    with pytest.raises(DecodeError):
        transaction_of(record)
