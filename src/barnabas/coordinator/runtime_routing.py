"""Which partition of an internal topic is in charge of a name."""

from __future__ import annotations

from functools import lru_cache


@lru_cache(maxsize=16_384)
def partition_for(name: str, partitions: int) -> int:
    """The partition for a group or transactional id.

    It is the hash that Java gives to a string, made positive: tools that read the internal topics
    and brokers of all makes agree on it.
    """
    value = 0
    data = name.encode("utf-16-be", "surrogatepass")
    for position in range(0, len(data), 2):
        value = (31 * value + (data[position] << 8 | data[position + 1])) & 0xFFFF_FFFF
    if value & 0x8000_0000:
        value = 0x1_0000_0000 - value
    if value == 0x8000_0000:
        value = 0  # the one number whose negative is itself
    return value % partitions
