"""A declaration, taken apart: what the compilers of readers and writers work from."""

from dataclasses import dataclass, field
from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, Union, get_args, get_origin

from barnabas.protocol.types import (
    LATEST,
    Flag,
    Fresh,
    NullableSince,
    Since,
    Tag,
    Until,
    Wire,
)

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
    flags: frozenset[str] = field(default_factory=frozenset)

    def exists(self, version: int) -> bool:
        return self.since <= version <= self.until

    def nullable(self, version: int) -> bool:
        return self.nullable_since is not None and version >= self.nullable_since

    @property
    def has_fresh_default(self) -> bool:
        return isinstance(self.default, list | Fresh)


@cache
def fields_of(cls: "type[Struct]") -> tuple[Field, ...]:
    """The fields of a structure in wire order (tagged ones wherever they were declared)."""
    return tuple(
        _field(name, annotation, cls.field_defaults[name])
        for name, annotation in cls.field_annotations.items()
    )


def _field(name: str, annotation: object, default: object) -> Field:
    base, marks = _unwrap(annotation)
    first, until, tag, nullable_since = 0, LATEST, None, None
    flags = set()
    inner, nullable = _without_none(base)
    for mark in marks:
        match mark:
            case Since(version):
                first = version
            case Until(version):
                until = version
            case NullableSince(version):
                nullable_since = version
            case Tag(number):
                tag = number
            case Flag(flag):
                flags.add(flag)
    if nullable and nullable_since is None:
        nullable_since = 0
    assert nullable or nullable_since is None, f"{name}: nullable_since needs a type with None"
    return Field(
        name=name,
        kind=_kind(inner, marks),
        default=default,
        since=first,
        until=until,
        nullable_since=nullable_since,
        tag=tag,
        flags=frozenset(flags),
    )


def _unwrap(annotation: object) -> tuple[object, tuple[object, ...]]:
    if get_origin(annotation) is Annotated:
        base, *marks = get_args(annotation)
        return base, tuple(marks)
    return annotation, ()


def _without_none(annotation: object) -> tuple[object, bool]:
    """The annotation less its None; a union that is left over is a primitive's, named by Wire."""
    if get_origin(annotation) not in (UnionType, Union):
        return annotation, False
    members = get_args(annotation)
    rest = [member for member in members if member is not NoneType]
    return (rest[0] if len(rest) == 1 else annotation), len(rest) < len(members)


def _kind(annotation: object, marks: tuple[object, ...]) -> Kind:
    for mark in marks:
        if isinstance(mark, Wire):
            return mark
    if get_origin(annotation) is list:
        (element,) = get_args(annotation)
        base, element_marks = _unwrap(element)
        return Array(_kind(base, element_marks))
    if isinstance(annotation, type) and hasattr(annotation, "field_annotations"):
        return Nested(annotation)
    raise TypeError(f"{annotation!r} is not a type of the wire protocol")


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
