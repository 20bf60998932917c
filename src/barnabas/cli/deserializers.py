"""Java's deserializers, as far as a console needs them: bytes in, the text that Java prints out.

Without one, bytes are printed as they are.  Pure.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from barnabas.cli.options import UsageError

Deserializer = Callable[[bytes], bytes]


class DeserializeError(Exception):
    """Bytes that are not of the type."""


def deserializer(option: str, name: str) -> Deserializer:
    """By Java class name, with or without its package."""
    short = name.strip().rpartition(".")[2]
    found = DESERIALIZERS.get(short) or DESERIALIZERS.get(f"{short}Deserializer")
    if found is None:
        known = ", ".join(DESERIALIZERS)
        raise UsageError(f'{option}: "{name}" is not known here; known are {known}')
    return found


def as_they_are(data: bytes) -> bytes:
    return data


def _string(data: bytes) -> bytes:
    return data.decode("utf-8", "replace").encode()


def _number(name: str, layout: str, show: Callable[[int], str] = str) -> Deserializer:
    packed = struct.Struct(layout)

    def read(data: bytes) -> bytes:
        if len(data) != packed.size:
            raise DeserializeError(f"Size of data received by {name} is not {packed.size}")
        return show(packed.unpack(data)[0]).encode()

    return read


def _boolean(data: bytes) -> bytes:
    if data not in (b"\0", b"\1"):
        raise DeserializeError("Data received by BooleanDeserializer is neither 0 nor 1")
    return b"true" if data == b"\1" else b"false"


def _escaped(data: bytes) -> bytes:
    return "".join(
        chr(byte) if 0x20 <= byte < 0x7F and byte != 0x5C else f"\\x{byte:02X}" for byte in data
    ).encode()


def _uuid(data: bytes) -> bytes:
    import uuid

    try:
        return str(uuid.UUID(data.decode())).encode()
    except ValueError:
        raise DeserializeError("Data received by UUIDDeserializer is not a UUID") from None


def _void(data: bytes) -> bytes:
    raise DeserializeError("Data should be null for a VoidDeserializer.")


def java_double(value: float) -> str:
    """As `Double.toString`: plain from a thousandth to ten million, else with an exponent.

    The fewest digits that read back as the same number, but of two digits the nearest ones: the
    smallest double is 4.9E-324, though 5E-324 would do.
    """
    two_digits = f"{value:.1e}"
    return _java_decimal(two_digits if float(two_digits) == value else repr(value))


def java_float(value: float) -> str:
    """As `Float.toString`: the same for 32-bit numbers."""
    for digits in range(2, 10):
        text = f"{value:.{digits}g}"
        if _is_same_float(float(text), value):
            return _java_decimal(text)
    return _java_decimal(repr(value))  # not a number: equal to nothing


def _is_same_float(one: float, other: float) -> bool:
    try:
        return struct.pack(">f", one) == struct.pack(">f", other)
    except OverflowError:  # rounded up beyond the largest
        return False


def _java_decimal(text: str) -> str:
    """Python's shortest digits, laid out as Java lays them out."""
    special = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
    if text in special:
        return special[text]
    sign = "-" if text.startswith("-") else ""
    mantissa, _, exponent_text = text.removeprefix("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return f"{sign}0.0"
    leading_zeros = len(whole + fraction) - len(digits)
    exponent = len(whole) - leading_zeros - 1 + int(exponent_text or 0)
    digits = digits.rstrip("0")
    if -3 <= exponent < 7:
        if exponent >= 0:
            padded = digits.ljust(exponent + 2, "0")
            return f"{sign}{padded[: exponent + 1]}.{padded[exponent + 1 :]}"
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}"


DESERIALIZERS: dict[str, Deserializer] = {
    "StringDeserializer": _string,
    "ByteArrayDeserializer": as_they_are,
    "ByteBufferDeserializer": as_they_are,
    "BytesDeserializer": _escaped,
    "ShortDeserializer": _number("ShortDeserializer", ">h"),
    "IntegerDeserializer": _number("IntegerDeserializer", ">i"),
    "LongDeserializer": _number("LongDeserializer", ">q"),
    "FloatDeserializer": _number("FloatDeserializer", ">f", java_float),
    "DoubleDeserializer": _number("DoubleDeserializer", ">d", java_double),
    "BooleanDeserializer": _boolean,
    "UUIDDeserializer": _uuid,
    "VoidDeserializer": _void,
}
