"""Values of messages, drawn from their declarations: what the tests of the protocol feed on."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeAlias

from hypothesis import strategies as st

from barnabas.protocol import messages
from barnabas.protocol.message import Message, Struct
from barnabas.protocol.schema import Array, Field, Kind, Nested, fields_of
from barnabas.protocol.types import Wire

Limit: TypeAlias = Callable[[Field], st.SearchStrategy[Any] | None]
"""A strategy for a field whose values are fewer than its type's, or None."""

WIDTHS = {"int8": 7, "int16": 15, "int32": 31, "int64": 63}
LONG_TEXT = "ü" + "x" * 200
LONG_BYTES = bytes(range(256)) * 2

PRIMITIVES: dict[str, st.SearchStrategy[Any]] = {
    **{name: st.integers(-(1 << bits), (1 << bits) - 1) for name, bits in WIDTHS.items()},
    "uint16": st.integers(0, (1 << 16) - 1),
    "uint32": st.integers(0, (1 << 32) - 1),
    "float64": st.floats(allow_nan=False),
    "bool": st.booleans(),
    "uuid": st.just(bytes(16)) | st.binary(min_size=16, max_size=16),
    "string": st.text(max_size=6) | st.just(LONG_TEXT),
    "bytes": st.binary(max_size=6) | st.just(LONG_BYTES),
    "records": st.binary(max_size=6) | st.just(LONG_BYTES),
}


def every_message() -> list[type[Message]]:
    """All declared messages, in the order of their modules."""
    modules = pkgutil.iter_modules(messages.__path__, messages.__name__ + ".")
    return [
        value
        for module in modules
        for value in vars(import_module(module.name)).values()
        if isinstance(value, type) and issubclass(value, Message) and value is not Message
    ]


def every_version() -> list[tuple[type[Message], int]]:
    """All declared messages, each with every version it has."""
    return [
        (cls, version)
        for cls in every_message()
        for version in range(cls.min_version, cls.max_version + 1)
    ]


def version_id(value: object) -> str:
    """How a message or a version is called in the name of a test."""
    return value.__name__ if isinstance(value, type) else f"v{value}"


def no_limit(field: Field) -> None:
    """Every value that the type of a field allows."""


def values_of(cls: type[Struct], version: int, limit: Limit = no_limit) -> st.SearchStrategy[Any]:
    """Instances of `cls` that use only what exists in `version`."""
    present = {
        field.name: _field_values(field, version, limit)
        for field in fields_of(cls)
        if field.exists(version)
    }
    return st.builds(cls, **present)


def _field_values(field: Field, version: int, limit: Limit) -> st.SearchStrategy[Any]:
    limited = limit(field)
    values = _values(field.kind, version, limit) if limited is None else limited
    if field.nullable(version):
        values = st.none() | values
    if field.tag is not None:
        values = st.just(field.default) | values if _is_plain(field.default) else values
    return values


def _is_plain(default: object) -> bool:
    return default is None or isinstance(default, int | str | bytes)


def _values(kind: Kind, version: int, limit: Limit) -> st.SearchStrategy[Any]:
    match kind:
        case Wire():
            return PRIMITIVES[kind.name]
        case Array(element):
            return st.lists(_values(element, version, limit), max_size=2)
        case Nested(cls):
            return values_of(cls, version, limit)
