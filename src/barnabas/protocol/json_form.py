"""Messages as JSON values, in the form that Apache Kafka's tools print.

Field names are Kafka's own (`leaderEpoch`); ids are their 22 characters, bytes are base64.  Left
out is what the version has no place for, and a tagged field at its default, which the bytes leave
out as well.
"""

from __future__ import annotations

import binascii
from typing import TYPE_CHECKING, Any

from barnabas.base.ids import id_text
from barnabas.protocol.schema import Array, Kind, Nested, fields_of
from barnabas.protocol.types import BYTES, UUID, Fresh

if TYPE_CHECKING:
    from barnabas.protocol.message import Struct


def json_form(message: Struct, version: int) -> dict[str, Any]:
    """The fields of a message, or of a part of one, in the order of their declaration."""
    found: dict[str, Any] = {}
    for field in fields_of(type(message)):
        if not field.exists(version):
            continue
        value = getattr(message, field.name)
        if field.tag is not None and _is_default(value, field.default):
            continue
        found[camel_case(field.name)] = _value(value, field.kind, version)
    return found


def camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


def _is_default(value: object, default: object) -> bool:
    return value == (default.cls() if isinstance(default, Fresh) else default)


def _value(value: Any, kind: Kind, version: int) -> Any:
    if value is None:
        return None
    match kind:
        case Array(element):
            return [_value(each, element, version) for each in value]
        case Nested():
            return json_form(value, version)
    if kind is UUID:
        return id_text(value)
    if kind is BYTES:
        return binascii.b2a_base64(value, newline=False).decode("ascii")
    return value
