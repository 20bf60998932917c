from __future__ import annotations

import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.cli.deserializers import (
    DeserializeError,
    deserializer,
    java_double,
    java_float,
)
from barnabas.cli.options import UsageError

PACKAGE = "org.apache.kafka.common.serialization."


@pytest.mark.parametrize(
    ("name", "data", "text"),
    [
        ("StringDeserializer", b"\xc3\xa9\xff", "é\ufffd".encode()),
        ("ByteArrayDeserializer", b"\xff\x00", b"\xff\x00"),
        ("BytesDeserializer", b"\xc3(\\ ~\n", rb"\xC3(\x5C ~\x0A"),
        ("ShortDeserializer", b"\xff\xfe", b"-2"),
        ("IntegerDeserializer", b"\0\0\0\x07", b"7"),
        ("LongDeserializer", struct.pack(">q", -5), b"-5"),
        ("FloatDeserializer", struct.pack(">f", 0.1), b"0.1"),
        ("DoubleDeserializer", struct.pack(">d", 1e7), b"1.0E7"),
        ("BooleanDeserializer", b"\x01", b"true"),
        ("BooleanDeserializer", b"\x00", b"false"),
        (
            "UUIDDeserializer",
            b"123E4567-E89B-12D3-A456-426614174000",
            b"123e4567-e89b-12d3-a456-426614174000",
        ),
    ],
)
def test_bytes_become_what_java_prints(name: str, data: bytes, text: bytes) -> None:
    assert deserializer("--x", name)(data) == text
    assert deserializer("--x", PACKAGE + name)(data) == text


@pytest.mark.parametrize(
    ("name", "data", "complaint"),
    [
        ("IntegerDeserializer", b"ab", "Size of data received by IntegerDeserializer is not 4"),
        ("LongDeserializer", b"", "Size of data received by LongDeserializer is not 8"),
        ("BooleanDeserializer", b"\x02", "neither 0 nor 1"),
        ("UUIDDeserializer", b"nope", "not a UUID"),
        ("VoidDeserializer", b"", "should be null"),
    ],
)
def test_bytes_of_another_type_are_refused(name: str, data: bytes, complaint: str) -> None:
    with pytest.raises(DeserializeError, match=complaint):
        deserializer("--x", name)(data)


def test_a_short_name_will_do_and_an_unknown_one_is_named() -> None:
    assert deserializer("--x", "Integer")(b"\0\0\0\1") == b"1"
    with pytest.raises(UsageError, match=r'^--x: "com\.example\.Avro" is not known here; known'):
        deserializer("--x", "com.example.Avro")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (-12.5, "-12.5"),
        (100.0, "100.0"),
        (0.001, "0.001"),
        (0.0001, "1.0E-4"),
        (0.00012345, "1.2345E-4"),
        (9999999.0, "9999999.0"),
        (10000000.0, "1.0E7"),
        (1.5e300, "1.5E300"),
        (123456789.125, "1.23456789125E8"),
        (5e-324, "4.9E-324"),
        (2e-323, "2.0E-323"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        (math.nan, "NaN"),
    ],
)
def test_doubles_are_laid_out_as_in_java(value: float, text: str) -> None:
    assert java_double(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_printed_double_reads_back(value: float) -> None:
    assert float(java_double(value)) == value


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_a_printed_float_reads_back(value: float) -> None:
    assert struct.pack(">f", float(java_float(value))) == struct.pack(">f", value)
