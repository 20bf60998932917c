"""Frames come out as they went in, however the bytes are cut on the way."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from barnabas.protocol.apis import APIS, Api
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.framing import (
    FrameReader,
    encode_request_header,
    frame,
    read_request_header,
)

API_VERSIONS = st.sampled_from(list(APIS.values())).flatmap(
    lambda api: st.tuples(st.just(api), st.sampled_from(api.versions))
)


@given(
    payloads=st.lists(st.binary(max_size=30), max_size=8),
    cuts=st.lists(st.integers(0, 300), max_size=20),
)
def test_frames_survive_any_cutting(payloads: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(map(frame, payloads))
    places = [0, *sorted(cut for cut in cuts if cut < len(stream)), len(stream)]
    reader = FrameReader(max_frame=30)

    found = []
    for start, stop in itertools.pairwise(places):
        found += reader.feed(stream[start:stop])
        assert reader.pending_bytes < 4 + 30

    assert found == payloads


@given(
    api_version=API_VERSIONS,
    correlation_id=st.integers(-(1 << 31), (1 << 31) - 1),
    client_id=st.none() | st.text(max_size=20),
    body=st.binary(max_size=5),
)
def test_a_request_header_survives_encoding(
    api_version: tuple[Api, int], correlation_id: int, client_id: str | None, body: bytes
) -> None:
    api, version = api_version
    header = encode_request_header(api, version, correlation_id, client_id)

    assert read_request_header(header + body) == (
        api.key,
        version,
        correlation_id,
        client_id,
        len(header),
    )


@given(noise=st.binary(max_size=60))
def test_noise_is_no_header_or_a_header_inside_it(noise: bytes) -> None:
    try:
        *_, pos = read_request_header(noise)
    except DecodeError:
        return
    assert 10 <= pos <= len(noise)
