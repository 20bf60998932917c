"""Producer states: taking back is exact, whatever happened in between."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.storage import producer_snapshot
from barnabas.storage.producer_state import MAX_SEQUENCE, AppendedBatch, ProducerStates

changes = st.lists(
    st.tuples(
        st.sampled_from(["data", "transactional", "marker"]),
        st.integers(0, 3),  # producer
        st.integers(0, 2),  # epoch
        st.integers(1, 3),  # records
    ),
    max_size=30,
)


def carry_out(
    states: ProducerStates, script: list[tuple[str, int, int, int]], offset: int = 0
) -> int:
    """Apply a script as a follower would: nothing is refused."""
    for what, producer, epoch, count in script:
        entry = states.entry_for(producer)
        if what == "marker":
            states.apply_marker(entry, epoch, 0, offset, offset, is_aborted=epoch == 1)
            offset += 1
            continue
        last = entry.last_sequence if entry.producer_epoch == epoch else -1
        batch = AppendedBatch((last + count) & MAX_SEQUENCE, offset + count - 1, count - 1, offset)
        states.apply_data(entry, epoch, batch, is_transactional=what == "transactional")
        offset += count
    return offset


def facts(states: ProducerStates) -> object:
    return (
        {key: entry.state() for key, entry in states.entries.items()},
        list(states.open.items()),
        states.first_unstable_offset,
    )


@settings(deadline=None)
@given(before=changes, after=changes, watermark=st.integers(0, 60))
def test_taking_back_leaves_exactly_what_was_committed(
    before: list[tuple[str, int, int, int]],
    after: list[tuple[str, int, int, int]],
    watermark: int,
) -> None:
    states = ProducerStates()
    offset = carry_out(states, before)
    states.commit(offset)
    states.replicated_to(min(watermark, offset))
    expected = facts(states)
    carry_out(states, after, offset)
    states.roll_back()
    assert facts(states) == expected


@settings(deadline=None)
@given(script=changes)
def test_the_first_unstable_offset_is_the_oldest_undecided_one(
    script: list[tuple[str, int, int, int]],
) -> None:
    states = ProducerStates()
    offset = carry_out(states, script)
    starts = [
        entry.transaction_start for entry in states.entries.values() if entry.transaction_start >= 0
    ]
    assert sorted(states.open.values()) == list(states.open.values()) == sorted(starts)
    states.replicated_to(offset)
    assert states.first_unstable_offset == min(starts, default=-1)


@settings(deadline=None)
@given(script=changes)
def test_a_snapshot_keeps_all_but_the_older_batches(
    script: list[tuple[str, int, int, int]],
) -> None:
    states = ProducerStates()
    offset = carry_out(states, script)
    states.commit(offset)
    entries = producer_snapshot.decode(producer_snapshot.encode(states.entries.values()))
    assert entries is not None
    loaded = ProducerStates()
    loaded.load(entries, offset)
    for entry in states.entries.values():
        # A snapshot has one time for a producer: that of its last batch or marker.
        entry.batches = tuple(
            each._replace(timestamp=entry.last_timestamp) for each in entry.batches[-1:]
        )
    assert loaded.entries == states.entries
    assert loaded.open == states.open


@settings(deadline=None)
@given(data=st.binary(max_size=200))
def test_any_bytes_can_be_read_as_a_snapshot(data: bytes) -> None:
    assert producer_snapshot.decode(data) is None
