"""All scenarios, by name: read from the files beside this one, and nothing heavier."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib import import_module, resources
from typing import TYPE_CHECKING

from barnabas.lab.scenarios.declaration import DeclarationError, Scenario, read_scenarios

if TYPE_CHECKING:
    from collections.abc import Callable

    from barnabas.lab.scenarios.stage import Stage

FILES = "barnabas.lab.scenarios.files"
PLAYS = "barnabas.lab.scenarios.plays"


@cache
def all_scenarios() -> dict[str, Scenario]:
    """In the order of the exercises; those beyond them come last."""
    found: dict[str, Scenario] = {}
    files = [each for each in resources.files(FILES).iterdir() if each.name.endswith(".toml")]
    for file in sorted(files, key=lambda each: _order(each.name)):
        exercise = file.name.removesuffix(".toml")
        try:
            document = tomllib.loads(file.read_text(encoding="utf-8"))
        except tomllib.TOMLDecodeError as error:
            raise DeclarationError(f"{file.name}: {error}") from None
        for scenario in read_scenarios(exercise, document):
            found[scenario.name] = scenario
    return found


def _order(name: str) -> tuple[bool, str]:
    return re.match(r"\d", name) is None, name


def play_of(scenario: Scenario) -> Callable[[Stage], None]:
    """The code of a scenario: `groups:no_commit` is a function of the module `plays.groups`."""
    module, colon, name = scenario.play.partition(":")
    if not colon:
        raise DeclarationError(f"{scenario.name}: play must be module:function")
    try:
        play: Callable[[Stage], None] = getattr(import_module(f"{PLAYS}.{module}"), name)
    except (ImportError, AttributeError) as error:
        raise DeclarationError(f"{scenario.name}: {error}") from None
    return play
