"""The words that message declarations are written in.

A field's annotation is what a type checker sees (`int`, `str | None`, `list[Topic]`) plus, through
`Annotated`, how it looks on the wire and in which versions it exists.
"""

from typing import Annotated, Protocol, TypeAlias, TypeVar, cast

T = TypeVar("T")

Buffer: TypeAlias = bytes | bytearray | memoryview
"""What messages are read from.  Items must be single bytes."""


class Sized(Protocol):
    """A run of record bytes that is sent without being looked at, such as a slice of a file."""

    def __len__(self) -> int: ...


class Wire:
    """A primitive type: `code` is its `struct` code if its width is fixed, else empty."""

    __slots__ = ("code", "name", "size")

    def __init__(self, name: str, code: str = "", size: int = 0) -> None:
        self.name = name
        self.code = code
        self.size = size

    def __repr__(self) -> str:
        return self.name


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


class Mark:
    """Something a declaration says about a field besides its type."""

    __slots__ = ("name", "value")

    def __init__(self, name: str, value: int = 0) -> None:
        self.name = name
        self.value = value

    def __repr__(self) -> str:
        return f"{self.name}({self.value})"


def since(version: int) -> Mark:
    """The field exists from this version on."""
    return Mark("since", version)


def until(version: int) -> Mark:
    """The field exists up to and including this version."""
    return Mark("until", version)


def nullable_since(version: int) -> Mark:
    """Null is a legal value only from this version on."""
    return Mark("nullable_since", version)


def tag(number: int) -> Mark:
    """The field travels in the tagged section of flexible versions, and only if not default."""
    return Mark("tag", number)


ignorable = Mark("ignorable")
"""A value that the version cannot carry is dropped instead of refused."""
inflexible = Mark("inflexible")
"""Encoded the old way even in flexible versions."""
secret = Mark("secret")
"""Never shown by `repr`."""


class Fresh:
    """The default of a nested structure: made anew for each message."""

    __slots__ = ("cls",)

    def __init__(self, cls: type[object]) -> None:
        self.cls = cls


def fresh(cls: type[T]) -> T:
    """Declare that a field's default is `cls()`, a new one each time."""
    return cast("T", Fresh(cls))
