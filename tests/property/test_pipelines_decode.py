"""The fast decoder of the pipelines reads what the slow one reads, whatever the records are."""

from __future__ import annotations

import datetime

from fetched_batches import EVERYTHING, fetched, rows, slow_rows
from hypothesis import given
from hypothesis import strategies as st

from barnabas.base.errors import CorruptMessage, InvalidRecord
from barnabas.records.batch import HEADER_SIZE, Record, encode_batch
from barnabas.records.compression import Codec

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
sizes = st.sampled_from([0, 1, 62, 63, 64, 65, 127, 128, 8190, 8192])
contents = st.none() | st.binary(max_size=100) | sizes.map(bytes)
records = st.lists(
    st.builds(
        Record,
        offset=st.just(-1),
        timestamp=st.integers(-1, 1 << 45),
        key=contents,
        value=contents,
        headers=st.lists(st.tuples(st.text(max_size=8), contents), max_size=3),
        sequence=st.just(-1),
    ),
    min_size=1,
    max_size=80,
)
batches = st.lists(st.tuples(records, st.sampled_from(Codec), st.integers(0, 300)), max_size=5)


@given(batches=batches, start=st.integers(0, 200), length=st.integers(0, 400))
def test_the_rows_are_the_records_of_the_range(
    batches: list[tuple[list[Record], Codec, int]], start: int, length: int
) -> None:
    encoded = []
    base = 0
    for content, codec, gap in batches:
        encoded.append(encode_batch(content, base_offset=base, codec=codec))
        base += len(content) + gap
    span = EVERYTHING._replace(start=start, end=start + length)

    found = rows(fetched(*encoded, position=start), span, with_headers=True)

    assert [
        (
            row["offset"],
            (row["timestamp"] - EPOCH) // datetime.timedelta(milliseconds=1),
            row["key"],
            row["value"],
            [(pair["key"], pair["value"]) for pair in row["headers"] or []],
        )
        for row in found
    ] == [
        (each.offset, each.timestamp, each.key, each.value, list(each.headers))
        for batch in encoded
        for each in slow_rows(batch)
        if span.start <= each.offset < span.end
    ]


@given(content=records, damage=st.data())
def test_damage_is_an_error_or_rows_but_never_a_crash(
    content: list[Record], damage: st.DataObject
) -> None:
    batch = encode_batch(content)
    for _ in range(damage.draw(st.integers(1, 3), label="how many")):
        place = damage.draw(st.integers(HEADER_SIZE, len(batch) - 1), label="where")
        batch[place] = damage.draw(st.integers(0, 255), label="what")

    try:
        found = rows(fetched(batch), with_headers=True, check_crcs=False)
    except (InvalidRecord, CorruptMessage):
        return
    assert len(found) <= len(content)
