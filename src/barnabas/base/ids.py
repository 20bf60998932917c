"""Topic ids, directory ids and cluster ids: 16 raw bytes on the wire, 22 characters for people."""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64encode
from uuid import uuid4

NO_ID = bytes(16)
"""The id that stands for none."""

_RESERVED = 100
"""The lowest hundred ids have special meanings (no id, the metadata topic, lost directories...)."""


def random_id() -> bytes:
    """A new id that is none of the reserved ones.

    Its text never starts with a dash, so that it can be given to a command as an argument.
    """
    while True:
        candidate = uuid4().bytes
        if int.from_bytes(candidate) >= _RESERVED and not id_text(candidate).startswith("-"):
            return candidate


def id_text(raw: bytes) -> str:
    """The 22 characters of url-safe base64, without padding, that people and files see."""
    assert len(raw) == 16, f"an id has 16 bytes, not {len(raw)}"
    return urlsafe_b64encode(raw)[:22].decode("ascii")


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


_FROM_URL_SAFE = str.maketrans("-_", "+/")
