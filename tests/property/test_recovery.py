"""Recovery, for any log and any tear: what was whole stays, the rest goes."""

from __future__ import annotations

import shutil
import tempfile
from bisect import bisect_right
from itertools import accumulate
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from storage_logs import NOW, Place, append, batch, records_of, values_of, write

from barnabas.storage.config import LogConfig
from barnabas.storage.log import Log

values = st.lists(st.binary(max_size=40), min_size=1, max_size=12)


def fresh(**config: int) -> Place:
    return Place(Path(tempfile.mkdtemp(prefix="recovery")) / "t-0", LogConfig(**config))


def remove(place: Place) -> None:
    place.pool.close()
    shutil.rmtree(place.directory.parent)


@settings(deadline=None)
@given(values=values, data=st.data())
def test_recovery_keeps_exactly_the_batches_before_a_tear(
    values: list[bytes], data: st.DataObject
) -> None:
    place = fresh()
    log = place.open()
    for value in values:
        append(log, batch(value))
    path = place.directory / "00000000000000000000.log"
    written = path.read_bytes()
    ends = list(accumulate((len(batch(value)) for value in values), initial=0))
    assert ends[-1] == len(written)
    tear = data.draw(st.integers(0, len(written)), label="tear")
    path.write_bytes(written[:tear])

    survivors = place.open(high_watermark=len(values))

    assert values_of(survivors) == values[: bisect_right(ends, tear) - 1]
    assert path.stat().st_size == ends[bisect_right(ends, tear) - 1]
    remove(place)


@settings(deadline=None)
@given(values=values, data=st.data())
def test_recovery_keeps_the_batches_before_a_flipped_bit(
    values: list[bytes], data: st.DataObject
) -> None:
    place = fresh()
    log = place.open()
    for value in values:
        append(log, batch(value))
    path = place.directory / "00000000000000000000.log"
    written = bytearray(path.read_bytes())
    ends = list(accumulate((len(batch(value)) for value in values), initial=0))
    number = data.draw(st.integers(0, len(values) - 1), label="batch")
    checked = [*range(8, 12), *range(16, ends[number + 1] - ends[number])]  # not offset and epoch
    at = ends[number] + data.draw(st.sampled_from(checked), label="byte")
    written[at] ^= 1 << data.draw(st.integers(0, 7), label="bit")
    path.write_bytes(written)

    survivors = place.open(high_watermark=len(values))

    assert values_of(survivors) == values[:number]
    remove(place)


@settings(deadline=None)
@given(garbage=st.binary(max_size=300), values=values)
def test_garbage_at_the_end_never_harms_what_is_before(garbage: bytes, values: list[bytes]) -> None:
    place = fresh()
    log = place.open()
    for value in values:
        append(log, batch(value))
    with (place.directory / "00000000000000000000.log").open("ab") as file:
        file.write(garbage)
    assert values_of(place.open(high_watermark=len(values))) == values
    remove(place)


@settings(deadline=None)
@given(
    count=st.integers(2, 20),
    losses=st.lists(st.floats(0, 1), min_size=1, max_size=3),
    point=st.floats(0, 1),
    is_only_copy=st.booleans(),
)
def test_any_lost_ends_of_segments_leave_no_hole_but_in_the_only_copy(
    count: int, losses: list[float], point: float, *, is_only_copy: bool
) -> None:
    """Some segments at or above the recovery point lose their ends, at any byte."""
    size = len(batch(b"x"))
    place = fresh(segment_bytes=3 * size)
    log = place.open()
    for _ in range(count):
        append(log, batch(b"x"))
    recovery_point = round(point * count)
    left = set(range(count))
    suspects = [each.base_offset for each in log.segments if each.base_offset >= recovery_point]
    for loss in losses if suspects else ():
        base = suspects[int(loss * len(suspects)) % len(suspects)]
        path = place.directory / f"{base:020d}.log"
        kept = int(loss * 1000) % (path.stat().st_size + 1)
        path.write_bytes(path.read_bytes()[:kept])
        left -= set(range(base + kept // size, min(base + 3, count)))
    first_lost = min(set(range(count)) - left, default=count)

    opened = place.open(
        high_watermark=count, recovery_point=recovery_point, is_only_copy=is_only_copy
    )

    new = append(opened, batch(b"new")).base_offset  # readers get over a hole when there is more
    expected = [*(sorted(left) if is_only_copy else range(first_lost)), new]
    assert [record.offset for record in records_of(opened)] == expected
    again = place.open(high_watermark=count + 1, is_only_copy=is_only_copy)
    assert [record.offset for record in records_of(again)] == expected
    remove(place)


steps = st.lists(
    st.one_of(
        st.tuples(st.just("data"), st.integers(0, 3), st.integers(1, 4)),
        st.tuples(st.just("transactional"), st.integers(0, 3), st.integers(1, 3)),
        st.tuples(st.just("commit"), st.integers(0, 3), st.just(0)),
        st.tuples(st.just("abort"), st.integers(0, 3), st.just(0)),
        st.tuples(st.just("plain"), st.just(-1), st.integers(1, 3)),
        st.tuples(st.just("roll"), st.just(0), st.just(0)),
    ),
    max_size=40,
)


def run(log: Log, script: list[tuple[str, int, int]]) -> None:
    """Carry out what is allowed; each producer keeps its sequence."""
    sequences: dict[int, int] = {}
    for number, (what, producer, count) in enumerate(script):
        entry = log.producers.entries.get(producer)
        is_open = entry is not None and entry.transaction_start >= 0
        if what == "roll":
            log.roll(NOW)
        elif what in ("commit", "abort"):
            log.append_control(
                producer_id=producer,
                producer_epoch=0,
                is_commit=what == "commit",
                coordinator_epoch=number,
                leader_epoch=number // 10,
                now_ms=NOW + number,
            )
        elif what == "plain":
            data = batch(*[b"plain"] * count, timestamp=NOW + number)
            log.append_as_leader(data, leader_epoch=number // 10, now_ms=NOW)
        elif what == "transactional" or not is_open:
            sequence = sequences.get(producer, 0)
            sequences[producer] = sequence + count
            data = batch(
                *[b"%d" % number] * count,
                timestamp=NOW + number,
                producer_id=producer,
                epoch=0,
                sequence=sequence,
                transactional=what == "transactional",
            )
            log.append_as_leader(data, leader_epoch=number // 10, now_ms=NOW)
        if number % 3 == 0:
            write(log)
    write(log)


def facts(log: Log, *, window: bool) -> object:
    return (
        log.end_offset,
        [(record.offset, record.timestamp, record.value) for record in records_of(log)],
        {
            entry.producer_id: (
                entry.state()[:-1],
                # A snapshot has only a producer's last batch, and for it the producer's time.
                entry.batches if window else [each[:3] for each in entry.batches[-1:]],
            )
            for entry in log.active_producers()
        },
        log.epochs.entries,
        log.last_stable_offset,
        log.aborted_transactions(0, log.end_offset),
        [(list(segment.index), segment.largest_timestamp()) for segment in log.segments],
    )


@settings(max_examples=60, deadline=None)
@given(script=steps, segment_bytes=st.sampled_from([400, 1000, 1 << 20]))
def test_whatever_way_a_log_is_opened_it_is_the_same(
    script: list[tuple[str, int, int]], segment_bytes: int
) -> None:
    place = fresh(segment_bytes=segment_bytes, index_interval_bytes=150)
    log = place.open()
    run(log, script)
    end = log.end_offset

    crashed = place.open(high_watermark=end)
    assert facts(crashed, window=False) == facts(log, window=False)
    if len(log.segments) == 1:  # no snapshot in between: all five batches are found again
        assert facts(crashed, window=True) == facts(log, window=True)
    crashed.close()
    assert facts(place.open(clean=True, high_watermark=end), window=False) == facts(
        log, window=False
    )
    remove(place)
