"""A declaration, taken apart: what the compilers of readers and writers work from."""

from dataclasses import dataclass
from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, Union, get_args, get_origin

from barnabas.protocol.types import LATEST, Mark, Wire

if TYPE_CHECKING:
    from barnabas.protocol.message import Struct


@dataclass(frozen=True, slots=True)
class Array:
    element: "Kind"


@dataclass(frozen=True, slots=True)
class Nested:
    cls: "type[Struct]"


Kind: TypeAlias = Wire | Array | Nested


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field of a structure, in all its versions."""

    name: str
    kind: Kind
    default: Any
    since: int = 0
    until: int = LATEST
    nullable_since: int | None = None
    tag: int | None = None
    ignorable: bool = False
    inflexible: bool = False
    secret: bool = False

    def exists(self, version: int) -> bool:
        return self.since <= version <= self.until

    def nullable(self, version: int) -> bool:
        return self.nullable_since is not None and version >= self.nullable_since


@cache
def fields_of(cls: "type[Struct]") -> tuple[Field, ...]:
    """The fields of a structure in wire order (tagged ones wherever they were declared)."""
    return tuple(
        _field(name, annotation, cls.field_defaults[name])
        for name, annotation in cls.field_annotations.items()
    )


def _field(name: str, annotation: object, default: object) -> Field:
    base, extras = _unwrap(annotation)
    marks = {extra.name: extra.value for extra in extras if isinstance(extra, Mark)}
    inner, nullable = _without_none(base)
    assert nullable or "nullable_since" not in marks, f"{name}: its type has no None"
    return Field(
        name=name,
        kind=_kind(inner, extras),
        default=default,
        since=marks.get("since", 0),
        until=marks.get("until", LATEST),
        nullable_since=marks.get("nullable_since", 0) if nullable else None,
        tag=marks.get("tag"),
        ignorable="ignorable" in marks,
        inflexible="inflexible" in marks,
        secret="secret" in marks,
    )


def _unwrap(annotation: object) -> tuple[object, tuple[object, ...]]:
    if get_origin(annotation) is Annotated:
        base, *extras = get_args(annotation)
        return base, tuple(extras)
    return annotation, ()


def _without_none(annotation: object) -> tuple[object, bool]:
    """The annotation less its None; a union that is left over is a primitive's, named by Wire."""
    if get_origin(annotation) not in (UnionType, Union):
        return annotation, False
    members = get_args(annotation)
    rest = [member for member in members if member is not NoneType]
    return (rest[0] if len(rest) == 1 else annotation), len(rest) < len(members)


def _kind(annotation: object, extras: tuple[object, ...]) -> Kind:
    for mark in extras:
        if isinstance(mark, Wire):
            return mark
    if get_origin(annotation) is list:
        (element,) = get_args(annotation)
        return Array(_kind(*_unwrap(element)))
    if isinstance(annotation, type) and hasattr(annotation, "field_annotations"):
        return Nested(annotation)
    hint = " (declare messages without `from __future__ import annotations`)"
    raise TypeError(
        f"{annotation!r} is not a type of the wire protocol"
        + (hint if isinstance(annotation, str) else "")
    )


def min_size(kind: Kind, version: int, *, flexible: bool) -> int:
    """Fewest bytes that a value can take: what makes an absurd array length visible at once."""
    match kind:
        case Wire(code=code, size=size) if code:
            return size
        case Wire(name="string"):
            return 1 if flexible else 2
        case Nested(cls):
            present = [f for f in fields_of(cls) if f.exists(version) and f.tag is None]
            inner = sum(
                1
                if isinstance(f.kind, Nested) and f.nullable(version)
                else min_size(f.kind, version, flexible=flexible)
                for f in present
            )
            return inner + flexible
        case _:
            return 1 if flexible else 4
