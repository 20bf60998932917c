"""CRC32C."""

from __future__ import annotations

from barnabas.records.crc import crc32c


def test_check_value_of_the_castagnoli_polynomial() -> None:
    assert crc32c(b"123456789", 0) == 0xE3069283


def test_parts_may_be_added_one_after_the_other() -> None:
    data = memoryview(b"123456789")

    assert crc32c(data[4:], crc32c(data[:4], 0)) == 0xE3069283
