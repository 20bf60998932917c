"""The base classes of message declarations.

Declaring a class only notes its annotations, so that importing messages is cheap.  Constructor,
reader and writers are compiled when they are first used, the latter two for each version by itself.
Messages are plain mutable data: no thread rule of their own, whoever holds one owns it.
"""

import sys
from collections.abc import Callable
from operator import attrgetter
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Self,
    TypeAlias,
    cast,
    dataclass_transform,
    get_origin,
)

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.types import LATEST, Buffer, Sized

if TYPE_CHECKING:
    from barnabas.protocol.schema import Field

Part: TypeAlias = bytes | bytearray | memoryview | Sized
Reader: TypeAlias = Callable[[Buffer, int], tuple[Any, int]]
Writer: TypeAlias = Callable[[Any, bytearray], None]
PartsWriter: TypeAlias = Callable[[Any, bytearray, list[Part]], None]

SHOWN_BYTES = 24
SHOWN_ITEMS = 16


@dataclass_transform(kw_only_default=True)
class StructType(type):
    """Gives a declaration its slots, which must be known before the class exists."""

    field_annotations: dict[str, object]
    field_defaults: dict[str, object]

    def __new__(
        mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any
    ) -> "StructType":
        annotations = {} if "__slots__" in namespace else _annotations(namespace)
        defaults = {}
        for field in annotations:
            assert field in namespace, f"{name}.{field} needs a default"
            defaults[field] = namespace.pop(field)
        namespace.setdefault("__slots__", tuple(annotations))
        cls = super().__new__(mcs, name, bases, namespace, **options)
        cls.field_annotations = annotations
        cls.field_defaults = defaults
        return cls


def _annotations(namespace: dict[str, Any]) -> dict[str, object]:
    if sys.version_info >= (3, 14):
        from annotationlib import Format, call_annotate_function, get_annotate_from_class_namespace

        annotate = get_annotate_from_class_namespace(namespace)
        found = call_annotate_function(annotate, Format.VALUE) if annotate else {}
    else:
        found = namespace.get("__annotations__", {})
    return {name: value for name, value in found.items() if get_origin(value) is not ClassVar}


class Struct(metaclass=StructType):
    """A structure: a message, or a part of one.  Equal if of one class with equal fields."""

    __slots__ = ()

    def __init__(self, **values: Any) -> None:
        from barnabas.protocol.constructor import install_constructor

        install_constructor(type(self))(self, **values)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        names = type(self).field_defaults
        return all(getattr(self, name) == getattr(other, name) for name in names)

    def __repr__(self) -> str:
        from barnabas.protocol.schema import fields_of

        shown = ", ".join(f"{f.name}={_show(f, self)}" for f in fields_of(type(self)))
        return f"{type(self).__name__}({shown})"


def _show(field: "Field", owner: Struct) -> str:
    value = attrgetter(field.name)(owner)
    if field.secret and value:
        return "<hidden>"
    if isinstance(value, list):
        shown = [repr(item) for item in value[:SHOWN_ITEMS]]
        if len(value) > SHOWN_ITEMS:
            shown.append(f"... {len(value) - SHOWN_ITEMS} more")
        return f"[{', '.join(shown)}]"
    if isinstance(value, bytes | bytearray | memoryview):
        if len(value) > SHOWN_BYTES:
            return f"<{len(value)} bytes>"
        return f"bytes.fromhex({bytes(value).hex()!r})"
    return repr(value)


class _Compiled(dict[int, Any]):
    """One function per version, made when first asked for."""

    __slots__ = ("_cls", "_make")

    def __init__(self, cls: "type[Message]", make: "Callable[[type[Message], int], Any]") -> None:
        self._cls = cls
        self._make = make

    def __missing__(self, version: int) -> Any:
        made = self[version] = self._make(self._cls, version)
        return made


def _reader(cls: "type[Message]", version: int) -> Reader:
    from barnabas.protocol.reader import compile_reader

    return compile_reader(cls, version)


def _writer(cls: "type[Message]", version: int) -> Writer:
    from barnabas.protocol.writer import compile_writer

    return cast("Writer", compile_writer(cls, version, parts=False))


def _parts_writer(cls: "type[Message]", version: int) -> PartsWriter:
    from barnabas.protocol.writer import compile_writer

    return cast("PartsWriter", compile_writer(cls, version, parts=True))


class Message(Struct):
    """A request, a response, or a record's key or value: has versions and stands by itself.

    `versions` is the range that can be read and written ("0-4"); `flexible` says since when compact
    encodings and tagged fields are used ("4+" or "none").
    """

    __slots__ = ()

    api_key: ClassVar[int] = -1
    min_version: ClassVar[int] = 0
    max_version: ClassVar[int] = 0
    flexible_since: ClassVar[int] = LATEST
    readers: ClassVar[dict[int, Reader]]
    writers: ClassVar[dict[int, Writer]]
    parts_writers: ClassVar[dict[int, PartsWriter]]

    def __init_subclass__(
        cls, *, versions: str = "0", flexible: str = "none", api_key: int = -1
    ) -> None:
        first, _, last = versions.partition("-")
        cls.api_key = api_key
        cls.min_version = int(first)
        cls.max_version = int(last or first)
        cls.flexible_since = LATEST if flexible == "none" else int(flexible.removesuffix("+"))
        cls.readers = _Compiled(cls, _reader)
        cls.writers = _Compiled(cls, _writer)
        cls.parts_writers = _Compiled(cls, _parts_writer)

    @classmethod
    def read(cls, buf: Buffer, pos: int, version: int) -> tuple[Self, int]:
        """The message that starts at `pos`, and the position after it.  DecodeError if bad."""
        return cls.readers[version](buf, pos)

    @classmethod
    def decode(cls, buf: Buffer, version: int, pos: int = 0) -> Self:
        """The message that fills `buf` from `pos` to its end.  DecodeError if bad."""
        message, end = cls.readers[version](buf, pos)
        if end != len(buf):
            raise DecodeError(f"{cls.__name__} v{version}: {len(buf) - end} bytes after the end")
        return cast("Self", message)

    def encode(self, version: int) -> bytes:
        """The message as bytes.  EncodeError if the version cannot carry a value of it."""
        out = bytearray()
        type(self).writers[version](self, out)
        return bytes(out)

    def parts(self, version: int, prefix: bytes = b"") -> list[Part]:
        """The message as buffers to be sent one after the other, `prefix` first.

        Record bytes are not copied: large ones, and slices of files, stand as parts of their own.
        A part that is a `bytearray` belongs to the caller, who may change it.
        """
        out: list[Part] = []
        type(self).parts_writers[version](self, bytearray(prefix), out)
        return out
