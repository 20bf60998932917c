"""What the lab's commands share: options of the programs on a command line, and how these end."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from barnabas.cli.command import CommandError
from barnabas.cli.common import (
    BOOTSTRAP,
    COMMAND_CONFIG,
    COMMAND_PROPERTY,
    client_properties,
    read_file,
)
from barnabas.cli.options import Option, Parsed, UsageError
from barnabas.lab.programs.knobs import Knob, KnobError, of_side, read_all

if TYPE_CHECKING:
    from barnabas.lab.programs.options import ConsumerOptions, ProducerOptions

Told = TypeVar("Told", "ProducerOptions", "ConsumerOptions")

OPTIONS_FILE = Option(
    name="options",
    value="FILE",
    help="Java-style properties file with options of both programs, such as producer.acks=0 and "
    "consumer.group-id=kitchen. What is typed wins over it.",
)
DIR = Option(
    name="dir",
    value="DIR",
    help="The lab's folder, with the logs in producer/ and consumer/. Default: this directory.",
)
YES = Option(name="yes", aliases=("y",), help="Do not ask.")


def program_options(side: str, knobs: Sequence[Knob]) -> tuple[Option, ...]:
    """All options of one of the two programs; also in the spelling `-Dproducer.acks=0`."""
    client = tuple(
        replace(option, unlisted=(f"D{side}.{option.name}",))
        for option in (BOOTSTRAP, COMMAND_CONFIG, COMMAND_PROPERTY, OPTIONS_FILE)
    )
    return (*client, *(_option(side, knob) for knob in knobs))


def _option(side: str, knob: Knob) -> Option:
    said = "" if knob.default is None else f" Default: {knob.default}."
    return Option(
        name=knob.name,
        value=knob.unit,
        whole=knob.whole,
        choices=("true", "false") if knob.is_switch else knob.choices,
        any_case=knob.is_switch,
        alone="true" if knob.is_switch else None,
        unlisted=(f"D{side}.{knob.name}",),
        help=f"{knob.help}{said}",
    )


def texts_of(args: Parsed, side: str, knobs: Sequence[Knob]) -> dict[str, str]:
    """What was said of the program's options, in the file and on the line; values are looked at."""
    path = args.text("options")
    texts = {} if path is None else of_side(side, read_file("options", path))
    try:
        read_all(knobs, texts)
    except KnobError as error:
        raise UsageError(f"--options: {path}: {side}.{error}") from None
    for knob in knobs:
        typed = args.text(knob.name)
        if typed is not None:
            texts[knob.name] = typed
    return texts


def described(texts: Mapping[str, str], kind: type[Told]) -> Told:
    """The options as values; `UsageError` for those that do not go together."""
    try:
        return kind.of(texts)
    except KnobError as error:
        raise UsageError(f"--{error}") from None


def asked_for(
    args: Parsed, side: str, knobs: Sequence[Knob], kind: type[Told]
) -> tuple[Told, dict[str, str]]:
    """The program's options as values, and the properties of its client."""
    properties = client_properties(args, files=["command-config"], pairs=["command-property"])
    return described(texts_of(args, side, knobs), kind), properties


def folder_of(args: Parsed) -> Path:
    folder = Path(args.text("dir") or ".")
    if not folder.is_dir():
        raise UsageError(f"--dir: {folder} is not a directory")
    return folder


def agree(args: Parsed, question: str) -> None:
    """`CommandError` unless whoever typed the command wants it done."""
    if args.has("yes"):
        return
    if not sys.stdin.isatty():
        raise CommandError(f"{question} Say so with --yes.")
    answer = input(f"{question} [y/N] ")
    if answer.strip().lower() not in ("y", "yes"):
        raise CommandError("left as it was")
