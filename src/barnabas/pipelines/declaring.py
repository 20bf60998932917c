"""Settings of a pipeline as fields of a dataclass: flags, files and docs read one declaration.

    @dataclass(frozen=True, kw_only=True)
    class Archive:
        to: str = text("DIRECTORY", "Where the lake is.", required=True)

The flag is `--to`, the key in a file `to`; `build` makes the dataclass from what was given, and
says in one line what cannot be meant.  Pure: nothing here touches a file or a socket.
"""

from __future__ import annotations

import dataclasses
import difflib
import enum
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from barnabas.pipelines.errors import PipelineError

Definition = TypeVar("Definition")

FOR_ALL = ""
"""The name of a pair that was given without one: it holds for whatever has none of its own."""
_NAMED = re.compile(r"([\w.\-]+)=(.*)", re.DOTALL)


class Kind(enum.Enum):
    TEXT = enum.auto()
    NUMBER = enum.auto()
    SWITCH = enum.auto()
    SEVERAL = enum.auto()
    """A tuple of texts: repeated flags, a list in a file, or one text with commas."""
    PAIRS = enum.auto()
    """A mapping: `name=text` in flags, a table in a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One thing that a definition can say."""

    name: str
    kind: Kind
    value: str
    """What people are told to put there; empty for a switch."""
    help: str
    choices: tuple[str, ...] = ()
    least: int = 0
    is_required: bool = False
    may_be_bare: bool = False
    """Whether a pair may go without a name, and then holds for all."""


def text(
    value: str,
    about: str,
    *,
    default: str = "",
    choices: Sequence[str] = (),
    required: bool = False,
) -> Any:
    return _field(Kind.TEXT, value, about, default, choices=tuple(choices), is_required=required)


def number(value: str, about: str, *, default: int, least: int = 0) -> Any:
    return _field(Kind.NUMBER, value, about, default, least=least)


def switch(about: str) -> Any:
    return _field(Kind.SWITCH, "", about, False)


def several(value: str, about: str, *, default: Sequence[str] = (), required: bool = False) -> Any:
    return _field(Kind.SEVERAL, value, about, tuple(default), is_required=required)


def pairs(value: str, about: str, *, bare: bool = False) -> Any:
    return _field(Kind.PAIRS, value, about, None, may_be_bare=bare)


def _field(kind: Kind, value: str, about: str, default: object, **more: Any) -> Any:
    declared = Setting(name="", kind=kind, value=value, help=about, **more)
    metadata = {"setting": declared}
    if kind is Kind.PAIRS:
        return dataclasses.field(default_factory=dict, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def settings_of(definition: type) -> list[Setting]:
    """Every setting of a kind of pipeline, by the name that people write."""
    return [
        dataclasses.replace(each.metadata["setting"], name=each.name.replace("_", "-"))
        for each in dataclasses.fields(definition)
        if "setting" in each.metadata
    ]


def build(
    definition: type[Definition], typed: Mapping[str, object], from_file: Mapping[str, object]
) -> Definition:
    """The definition that flags and a file describe together; what was typed wins.

    Pairs of both are taken together, name by name.
    """
    known = {each.name: each for each in settings_of(definition)}
    values: dict[str, Any] = {}
    for said, given in (("", from_file), ("--", typed)):
        for written, value in given.items():
            name = written.replace("_", "-")
            if name not in known:
                raise PipelineError(f"{said}{written} is no setting here{_meant(name, known)}")
            checked = _checked(known[name], value, f"{said}{written}")
            if known[name].kind is Kind.PAIRS:
                checked = {**values.get(name, {}), **checked}
            values[name] = checked
    for name, each in known.items():
        if each.is_required and not values.get(name):
            raise PipelineError(f"--{name} is missing: {each.value}")
    return definition(**{name.replace("-", "_"): value for name, value in values.items()})


def _meant(name: str, known: Mapping[str, Setting]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f": did you mean {close[0]}?" if close else ""


def _checked(setting: Setting, value: object, said: str) -> Any:
    match setting.kind:
        case Kind.TEXT:
            return _text(setting, value, said)
        case Kind.NUMBER:
            return _number(setting, value, said)
        case Kind.SWITCH:
            return _switch(value, said)
        case Kind.SEVERAL:
            return _several(value, said)
        case Kind.PAIRS:
            return _pairs(setting, value, said)


def _text(setting: Setting, value: object, said: str) -> str:
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        raise PipelineError(f"{said}: {value!r} is not a text")
    written = str(value)
    if setting.choices and written not in setting.choices:
        listed = ", ".join(setting.choices)
        raise PipelineError(f'{said}: "{written}" is not one of {listed}')
    return written


def _number(setting: Setting, value: object, said: str) -> int:
    try:
        number = int(value) if isinstance(value, str) else value
    except ValueError:
        number = None
    if not isinstance(number, int) or isinstance(number, bool):
        raise PipelineError(f'{said}: "{value}" is not a whole number')
    if number < setting.least:
        raise PipelineError(f"{said}: {number} is out of range: at least {setting.least}")
    return number


def _switch(value: object, said: str) -> bool:
    if isinstance(value, bool):
        return value
    if value in ("true", "false"):
        return value == "true"
    raise PipelineError(f'{said}: "{value}" is neither true nor false')


def _several(value: object, said: str) -> tuple[str, ...]:
    given = [value] if isinstance(value, str) else value
    if not isinstance(given, Sequence) or not all(isinstance(each, str) for each in given):
        raise PipelineError(f"{said}: {value!r} is not a list of texts")
    parts = (part.strip() for each in given for part in each.split(","))
    return tuple(dict.fromkeys(part for part in parts if part))


def _pairs(setting: Setting, value: object, said: str) -> dict[str, str]:
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    given = [value] if isinstance(value, str) else value
    if not isinstance(given, Sequence) or not all(isinstance(each, str) for each in given):
        raise PipelineError(f"{said}: {value!r} is neither a table nor a list of name=text")
    found: dict[str, str] = {}
    for each in given:
        named = _NAMED.fullmatch(each)
        if named is None and not setting.may_be_bare:
            raise PipelineError(f'{said}: "{each}" is not of the form {setting.value}')
        found.update({named[1]: named[2]} if named else {FOR_ALL: each})
    return found


def _plain(value: object) -> str:
    """Values of a table as Spark and Kafka write them."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def for_name(given: Mapping[str, str], name: str, default: str = "") -> str:
    """The text of a pair: its own, or the one that holds for all."""
    return given.get(name, given.get(FOR_ALL, default))
