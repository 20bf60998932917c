"""Fields of many records at once, with numpy; and from places in a buffer to Arrow arrays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from barnabas.base.errors import InvalidRecord

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]

LAST_SHIFT = 63
"""Of the tenth byte of a number, which is its last one."""
HEADERS = pa.list_(
    pa.field("element", pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))
)


def read_varints(data: Bytes, at: Int64s) -> tuple[Int64s, Int64s]:
    """The zigzag varints at these places, and the places behind them; IndexError beyond the end."""
    first = data[at]
    values = first.astype(np.int64)
    after = at + 1
    rows = np.flatnonzero(first > 127)
    shift = 7
    while len(rows):
        values[rows] &= (1 << shift) - 1
        more = data[after[rows]]
        values[rows] |= more.astype(np.int64) << shift
        after[rows] += 1
        rows = rows[more > 127]
        shift += 7
        if shift > LAST_SHIFT and len(rows):
            raise InvalidRecord("A number of more than 10 bytes.")
    halves = (values.view(np.uint64) >> np.uint64(1)).view(np.int64)
    return halves ^ -(values & 1), after


def read_fields(data: Bytes, at: Int64s, ends: Int64s) -> tuple[Flags, Int64s, Int64s]:
    """Keys or values at these places: whether each is null, where it begins and where it ends.

    InvalidRecord if one is longer than what is left of its record.
    """
    sizes, begins = read_varints(data, at)
    if (sizes < -1).any() or (sizes > ends - begins).any():
        raise InvalidRecord("A record's length is not that of its content.")
    return sizes < 0, begins, begins + np.maximum(sizes, 0)


def pieces(data: Bytes, edges: Int32s, column: int, is_null: Flags) -> pa.BinaryArray:
    """Slices of `data` as one array: from `edges[:, column]` to the edge beside it.

    Rows of edges follow each other in the buffer.  All that lies between any two edges is first
    seen as one array, without a copy; what is wanted is then taken out of it by Arrow.
    """
    if is_null.all():
        return pa.nulls(len(edges), pa.binary())
    whole = pa.Array.from_buffers(
        pa.binary(), edges.size - 1, [None, pa.py_buffer(edges), pa.py_buffer(data)]
    )
    wanted = np.arange(column, edges.size, edges.shape[1])
    return whole.take(pa.array(wanted, mask=is_null if is_null.any() else None))


def header_column(data: Bytes, at: Int64s, ends: Int64s) -> pa.ListArray:
    """Headers of records, from behind their values to their ends; null for a record without any."""
    try:
        counts, at = read_varints(data, at)
        if (counts < 0).any() or (counts > ends - at).any():
            raise InvalidRecord("A record has more headers than it can hold.")
        if not counts.any():
            found = pa.nulls(len(counts), HEADERS)
        else:
            found, at = _headers(data, at, ends, counts)
    except IndexError:
        raise InvalidRecord("A record's headers end beyond its batch.") from None
    if (at != ends).any():
        raise InvalidRecord("A record's length is not that of its content.")
    return found


def _headers(data: Bytes, at: Int64s, ends: Int64s, counts: Int64s) -> tuple[pa.ListArray, Int64s]:
    """The first headers of all records that have one, then the second ones, and so on."""
    total = int(counts.sum())
    edges = np.empty((total, 4), np.int32)
    is_null = np.empty(total, np.bool_)
    slots = np.cumsum(counts) - counts
    at = at.copy()
    for number in range(int(counts.max())):
        rows = np.flatnonzero(counts > number)
        no_keys, key_begins, key_ends = read_fields(data, at[rows], ends[rows])
        if no_keys.any():
            raise InvalidRecord("A header's key has a negative length.")
        no_values, value_begins, value_ends = read_fields(data, key_ends, ends[rows])
        here = slots[rows] + number
        edges[here] = np.stack((key_begins, key_ends, value_begins, value_ends), axis=1)
        is_null[here] = no_values
        at[rows] = value_ends
    keys = _as_text(pieces(data, edges, 0, np.zeros(total, np.bool_)))
    values = pieces(data, edges, 2, is_null)
    items = pa.StructArray.from_arrays([keys, values], fields=list(HEADERS.value_type))
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts))).astype(np.int32)
    lists = pa.ListArray.from_arrays(
        pa.array(offsets), items, type=HEADERS, mask=pa.array(counts == 0)
    )
    return lists, at


def _as_text(keys: pa.BinaryArray) -> pa.StringArray:
    """Bytes that are no text are shown as Java shows them."""
    try:
        return keys.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([key.decode("utf-8", "replace") for key in keys.to_pylist()], pa.string())
