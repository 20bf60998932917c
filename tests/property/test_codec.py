"""Every message, in every version: what is written is what is read, and bad bytes are refused."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from message_values import every_version, values_of, version_id

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.message import Message

EVERY_VERSION = pytest.mark.parametrize(("cls", "version"), every_version(), ids=version_id)
SEEDS = st.integers(0, 2**32 - 1)
SETTINGS = settings(
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
INTERESTING = (
    b"\x00",
    b"\x01",
    b"\x7f",
    b"\x80",
    b"\xff",
    b"\xff\xff\xff\xff\x0f",
    b"\x7f\xff\xff\xff",
)


@EVERY_VERSION
@settings(SETTINGS, max_examples=5)
@given(data=st.data())
def test_a_message_survives_encoding_and_decoding(
    cls: type[Message], version: int, data: st.DataObject
) -> None:
    message: Any = data.draw(values_of(cls, version))

    encoded = message.encode(version)

    assert cls.decode(encoded, version) == message
    assert cls.read(b"before" + encoded + b"after", 6, version) == (message, 6 + len(encoded))
    assert b"".join(map(bytes, message.parts(version))) == encoded


@EVERY_VERSION
@settings(SETTINGS, max_examples=2)
@given(data=st.data(), seed=SEEDS)
def test_damaged_bytes_are_refused_or_make_another_message(
    cls: type[Message], version: int, data: st.DataObject, seed: int
) -> None:
    """Only DecodeError, never another exception; and what is accepted can be written again."""
    message: Any = data.draw(values_of(cls, version))
    encoded = message.encode(version)
    random = Random(seed)

    for _ in range(40):
        damaged = damage(encoded, random)
        try:
            found = cls.decode(memoryview(damaged), version)
        except DecodeError:
            continue
        again = found.encode(version)
        assert cls.decode(again, version).encode(version) == again


def damage(encoded: bytes, random: Random) -> bytes:
    at = random.randrange(len(encoded) + 1)
    removed = random.randrange(5)
    if random.random() < 0.5:
        inserted = random.choice(INTERESTING)
    else:
        inserted = random.randbytes(random.randrange(5))
    return encoded[:at] + inserted + encoded[at + removed :]


@EVERY_VERSION
@settings(SETTINGS, max_examples=2)
@given(data=st.data(), seed=SEEDS)
def test_bytes_that_end_too_early_are_refused(
    cls: type[Message], version: int, data: st.DataObject, seed: int
) -> None:
    message: Any = data.draw(values_of(cls, version))
    encoded = message.encode(version)
    cuts = range(len(encoded))

    for cut in cuts if len(cuts) < 20 else Random(seed).sample(cuts, 20):
        with pytest.raises(DecodeError):
            cls.read(encoded[:cut], 0, version)


@EVERY_VERSION
def test_noise_is_refused_or_makes_a_message(cls: type[Message], version: int) -> None:
    random = Random(f"{cls.__name__} {version}")

    for _ in range(100):
        noise = bytes(random.choices(range(256), NOISE_WEIGHTS, k=random.randrange(120)))
        try:
            message, pos = cls.read(memoryview(noise), 0, version)
        except DecodeError:
            continue
        assert 0 <= pos <= len(noise)
        assert cls.decode(message.encode(version), version) is not None


NOISE_WEIGHTS = [200 if byte < 4 else 20 if byte < 20 else 1 for byte in range(256)]
"""Small bytes are likely, or no length would ever fit."""
