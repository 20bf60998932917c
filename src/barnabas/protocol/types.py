"""The words that message declarations are written in.

A field's annotation is what a type checker sees (`int`, `str | None`, `list[Topic]`) plus, through
`Annotated`, how it looks on the wire and in which versions it exists.
"""

from dataclasses import dataclass
from typing import Annotated, Protocol, TypeAlias, TypeVar, cast

T = TypeVar("T")

Buffer: TypeAlias = bytes | bytearray | memoryview
"""What messages are read from.  Items must be single bytes."""


class Sized(Protocol):
    """A run of record bytes that is sent without being looked at, such as a slice of a file."""

    def __len__(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Wire:
    """A primitive type: `code` is its `struct` code if its width is fixed, else empty."""

    name: str
    code: str = ""
    size: int = 0


INT8 = Wire("int8", "b", 1)
INT16 = Wire("int16", "h", 2)
INT32 = Wire("int32", "i", 4)
INT64 = Wire("int64", "q", 8)
UINT16 = Wire("uint16", "H", 2)
UINT32 = Wire("uint32", "I", 4)
FLOAT64 = Wire("float64", "d", 8)
BOOL = Wire("bool", "?", 1)
UUID = Wire("uuid", "16s", 16)
STRING = Wire("string")
BYTES = Wire("bytes")
RECORDS = Wire("records")

Int8: TypeAlias = Annotated[int, INT8]
Int16: TypeAlias = Annotated[int, INT16]
Int32: TypeAlias = Annotated[int, INT32]
Int64: TypeAlias = Annotated[int, INT64]
Uint16: TypeAlias = Annotated[int, UINT16]
Uint32: TypeAlias = Annotated[int, UINT32]
Float64: TypeAlias = Annotated[float, FLOAT64]
Bool: TypeAlias = Annotated[bool, BOOL]
Uuid: TypeAlias = Annotated[bytes, UUID]
String: TypeAlias = Annotated[str, STRING]
NullableString: TypeAlias = Annotated[str | None, STRING]
Bytes: TypeAlias = Annotated[bytes, BYTES]
NullableBytes: TypeAlias = Annotated[bytes | None, BYTES]
Records: TypeAlias = Annotated[memoryview | bytes, RECORDS]
"""Record batches as one run of bytes; decoded to a memoryview into the buffer, never copied."""
NullableRecords: TypeAlias = Annotated[memoryview | bytes | None, RECORDS]
RecordsOut: TypeAlias = Annotated[memoryview | bytes | Sized, RECORDS]
"""Like `Records`, in a message that the broker sends: a file slice may stand for the bytes."""
NullableRecordsOut: TypeAlias = Annotated[memoryview | bytes | Sized | None, RECORDS]

NO_UUID = bytes(16)
LATEST = 0x7FFF


@dataclass(frozen=True, slots=True)
class Since:
    version: int


@dataclass(frozen=True, slots=True)
class Until:
    version: int


@dataclass(frozen=True, slots=True)
class NullableSince:
    version: int


@dataclass(frozen=True, slots=True)
class Tag:
    number: int


@dataclass(frozen=True, slots=True)
class Flag:
    name: str


def since(version: int) -> Since:
    """The field exists from this version on."""
    return Since(version)


def until(version: int) -> Until:
    """The field exists up to and including this version."""
    return Until(version)


def nullable_since(version: int) -> NullableSince:
    """Null is a legal value only from this version on."""
    return NullableSince(version)


def tag(number: int) -> Tag:
    """The field travels in the tagged section of flexible versions, and only if not default."""
    return Tag(number)


ignorable = Flag("ignorable")
"""A value that the version cannot carry is dropped instead of refused."""
inflexible = Flag("inflexible")
"""Encoded the old way even in flexible versions."""
secret = Flag("secret")
"""Never shown by `repr`."""


@dataclass(frozen=True, slots=True)
class Fresh:
    """The default of a nested structure: made anew for each message."""

    cls: type[object]


def fresh(cls: type[T]) -> T:
    """Declare that a field's default is `cls()`, a new one each time."""
    return cast("T", Fresh(cls))
