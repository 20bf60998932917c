"""Topic ids, directory ids and cluster ids: 16 raw bytes on the wire, 22 characters for people."""

from __future__ import annotations

import binascii
import os
from collections.abc import Callable

NO_ID = bytes(16)
"""The id that stands for none."""

source: Callable[[int], bytes] = os.urandom
"""Where chance comes from.  Only a simulation sets another: its ids must follow from its seed."""

_TO_URL_SAFE = str.maketrans("+/", "-_")
_FROM_URL_SAFE = str.maketrans("-_", "+/")


def random_id() -> bytes:
    """A new id, drawn from `source`.

    It is none of the lowest hundred, which have special meanings (no id, the metadata topic, lost
    directories): the bits of a UUID's version see to that.  Its text never starts with a dash, so
    that it can be given to a command as an argument.
    """
    while True:
        drawn = bytearray(source(16))
        drawn[6] = drawn[6] & 0x0F | 0x40  # A UUID of version 4,
        drawn[8] = drawn[8] & 0x3F | 0x80  # of the usual variant.
        candidate = bytes(drawn)
        if not id_text(candidate).startswith("-"):
            return candidate


def id_text(raw: bytes) -> str:
    """The 22 characters of url-safe base64, without padding, that people and files see."""
    assert len(raw) == 16, f"an id has 16 bytes, not {len(raw)}"
    return binascii.b2a_base64(raw)[:22].decode("ascii").translate(_TO_URL_SAFE)


def parse_id(text: str) -> bytes:
    """The id written as `text`; ValueError if it is not one.

    The last character carries only two bits of the id: the others must be zero, so that an id has
    exactly one text.
    """
    try:
        raw = binascii.a2b_base64(text.translate(_FROM_URL_SAFE) + "==", strict_mode=True)
    except (binascii.Error, ValueError):
        raise ValueError(f"{text!r} is not an id: 22 characters of url-safe base64") from None
    if len(raw) != 16 or id_text(raw) != text:
        raise ValueError(f"{text!r} is not an id: 22 characters of url-safe base64")
    return raw
