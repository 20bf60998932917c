"""Sequence numbers, epochs and transactions of producers, as Apache Kafka 4 judges them."""

from __future__ import annotations

import pytest

from barnabas.base.errors import (
    InvalidProducerEpoch,
    InvalidTxnState,
    OutOfOrderSequenceNumber,
    TransactionCoordinatorFenced,
)
from barnabas.storage.producer_state import (
    MAX_SEQUENCE,
    AppendedBatch,
    ProducerEntry,
    ProducerStates,
)

PID = 7


def data(
    states: ProducerStates,
    *,
    first: int,
    count: int = 1,
    offset: int,
    epoch: int = 0,
    transactional: bool = False,
    producer_id: int = PID,
    timestamp: int = 1000,
) -> None:
    batch = AppendedBatch(
        (first + count - 1) & MAX_SEQUENCE, offset + count - 1, count - 1, timestamp
    )
    entry = states.entry_for(producer_id)
    states.apply_data(entry, epoch, batch, is_transactional=transactional)


def check(
    states: ProducerStates,
    *,
    first: int,
    epoch: int = 0,
    transactional: bool = False,
    zero_start: bool = False,
) -> None:
    states.check(
        states.entry_for(PID),
        epoch,
        first,
        is_transactional=transactional,
        zero_start=zero_start,
    )


def marker(states: ProducerStates, *, offset: int, epoch: int = 0, producer_id: int = PID):  # type: ignore[no-untyped-def]
    entry = states.entry_for(producer_id)
    return states.apply_marker(entry, epoch, 0, offset, 1000, is_aborted=True)


def test_an_unknown_producer_may_start_at_any_sequence_number() -> None:
    check(ProducerStates(), first=0)
    check(ProducerStates(), first=55, epoch=3)


def test_a_producer_of_the_second_transaction_protocol_must_start_at_zero() -> None:
    check(ProducerStates(), first=0, zero_start=True)
    with pytest.raises(OutOfOrderSequenceNumber):
        check(ProducerStates(), first=55, zero_start=True)


def test_sequence_numbers_must_follow_each_other() -> None:
    states = ProducerStates()
    data(states, first=0, count=3, offset=10)
    check(states, first=3)
    for wrong in (0, 2, 4):
        with pytest.raises(OutOfOrderSequenceNumber):
            check(states, first=wrong)


def test_sequence_numbers_wrap_around() -> None:
    states = ProducerStates()
    data(states, first=MAX_SEQUENCE - 1, count=2, offset=0)
    check(states, first=0)
    data(states, first=0, count=2, offset=2)
    check(states, first=2)
    data(states, first=MAX_SEQUENCE, count=3, offset=4)  # wraps inside a batch
    check(states, first=2)
    entry = states.entries[PID]
    assert states.find_duplicate(entry, 0, MAX_SEQUENCE, 2) == entry.batches[-1]
    assert entry.batches[-1].first_sequence == MAX_SEQUENCE


def test_a_new_epoch_starts_at_zero() -> None:
    states = ProducerStates()
    data(states, first=0, count=3, offset=0)
    check(states, first=0, epoch=1)
    with pytest.raises(OutOfOrderSequenceNumber):
        check(states, first=3, epoch=1)


def test_an_old_epoch_is_fenced() -> None:
    states = ProducerStates()
    data(states, first=0, offset=0, epoch=5)
    with pytest.raises(InvalidProducerEpoch):
        check(states, first=1, epoch=4)


def test_each_of_the_last_five_batches_is_known_again() -> None:
    states = ProducerStates()
    for number in range(6):
        data(states, first=number * 2, count=2, offset=100 + number * 2)
    entry = states.entries[PID]
    assert states.find_duplicate(entry, 0, 0, 1) is None
    for number in range(1, 6):
        found = states.find_duplicate(entry, 0, number * 2, 1)
        assert found is not None
        assert found.first_offset == 100 + number * 2
    assert states.find_duplicate(entry, 1, 10, 1) is None  # another epoch
    assert states.find_duplicate(entry, 0, 10, 0) is None  # another length


def test_a_transaction_is_unstable_until_its_marker_is_replicated() -> None:
    states = ProducerStates()
    data(states, first=0, offset=10, transactional=True)
    data(states, first=1, offset=11, transactional=True)
    assert states.first_unstable_offset == 10
    completed = marker(states, offset=12)
    assert completed is not None
    assert (completed.first_offset, completed.last_offset) == (10, 12)
    assert completed.last_stable_offset == 13
    assert states.first_unstable_offset == 10
    states.replicated_to(12)
    assert states.first_unstable_offset == 10
    states.replicated_to(13)
    assert states.first_unstable_offset == -1


def test_the_oldest_open_transaction_bounds_the_stable_part() -> None:
    states = ProducerStates()
    data(states, first=0, offset=10, transactional=True, producer_id=1)
    data(states, first=0, offset=11, transactional=True, producer_id=2)
    first = marker(states, offset=12, producer_id=1)
    assert first is not None
    assert first.last_stable_offset == 11
    states.replicated_to(13)
    assert states.first_unstable_offset == 11
    marker(states, offset=13, producer_id=2)
    states.replicated_to(14)
    assert states.first_unstable_offset == -1


def test_a_marker_without_records_completes_nothing() -> None:
    states = ProducerStates()
    assert marker(states, offset=5) is None
    assert states.first_unstable_offset == -1
    assert states.entries[PID].producer_epoch == 0


def test_a_batch_outside_of_the_open_transaction_is_refused() -> None:
    states = ProducerStates()
    data(states, first=0, offset=0, transactional=True)
    check(states, first=1, transactional=True)
    with pytest.raises(InvalidTxnState):
        check(states, first=1)


def marker_check(
    states: ProducerStates, epoch: int, coordinator: int = 0, version: int = 0
) -> None:
    states.check_marker(states.entry_for(PID), epoch, coordinator, version)


def test_a_marker_of_an_old_epoch_is_fenced() -> None:
    states = ProducerStates()
    data(states, first=0, offset=0, epoch=5, transactional=True)
    marker_check(states, 5)
    marker_check(states, 6)
    with pytest.raises(InvalidProducerEpoch):
        marker_check(states, 4)


def test_with_transaction_version_two_a_marker_has_a_greater_epoch() -> None:
    states = ProducerStates()
    data(states, first=0, offset=0, epoch=5, transactional=True)
    with pytest.raises(InvalidProducerEpoch):
        marker_check(states, 5, version=2)
    marker_check(states, 6, version=2)
    marker(states, offset=1, epoch=6)
    marker_check(states, 6, version=2)  # the same marker once more
    check(states, first=0, epoch=6, transactional=True)
    with pytest.raises(OutOfOrderSequenceNumber):
        check(states, first=1, epoch=6, transactional=True)


def test_a_marker_of_an_old_coordinator_is_fenced() -> None:
    states = ProducerStates()
    entry = states.entry_for(PID)
    states.apply_marker(entry, 0, 9, 0, 1000, is_aborted=False)
    marker_check(states, 0, coordinator=9)
    with pytest.raises(TransactionCoordinatorFenced):
        marker_check(states, 0, coordinator=8)


def test_producers_expire_unless_a_transaction_is_open() -> None:
    states = ProducerStates()
    data(states, first=0, offset=0, producer_id=1, timestamp=1000)
    data(states, first=0, offset=1, producer_id=2, timestamp=2000)
    data(states, first=0, offset=2, producer_id=3, timestamp=1000, transactional=True)
    states.commit(3)
    assert states.expire(now_ms=2000, expiration_ms=1000) == 1
    assert sorted(states.entries) == [2, 3]


def snapshot(states: ProducerStates) -> object:
    return (
        {key: entry.state() for key, entry in states.entries.items()},
        dict(states.open),
        states.first_unstable_offset,
    )


def test_what_was_not_written_is_taken_back() -> None:
    states = ProducerStates()
    data(states, first=0, offset=0, producer_id=1, transactional=True)
    data(states, first=0, offset=1, producer_id=2)
    states.commit(2)
    before = snapshot(states)

    data(states, first=1, offset=2, producer_id=1, transactional=True)
    marker(states, offset=3, producer_id=1)
    data(states, first=0, offset=4, producer_id=1, epoch=1, transactional=True)
    data(states, first=1, offset=5, producer_id=2)
    data(states, first=0, offset=6, producer_id=3, transactional=True)
    assert snapshot(states) != before

    states.roll_back()
    assert snapshot(states) == before
    states.roll_back()
    assert snapshot(states) == before


def test_a_snapshot_brings_open_transactions_back_in_order() -> None:
    late, early = ProducerEntry(1), ProducerEntry(2)
    late.transaction_start, early.transaction_start = 20, 10
    late.producer_epoch = early.producer_epoch = 0
    states = ProducerStates()
    states.load([late, early], end_offset=30)
    assert list(states.open.items()) == [(2, 10), (1, 20)]
    assert states.first_unstable_offset == 10
    assert states.end_offset == 30
