"""`barnabas lab show`: one scenario, before it is run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.cli.command import Command
from barnabas.cli.near import did_you_mean
from barnabas.cli.options import Parsed, UsageError
from barnabas.cli.printing import print_lines

if TYPE_CHECKING:
    from barnabas.lab.scenarios.declaration import Scenario


def scenario_of(name: str) -> Scenario:
    """`UsageError` if there is none of this name."""
    from barnabas.lab.scenarios.catalogue import all_scenarios

    known = all_scenarios()
    if name not in known:
        hint = did_you_mean(name, known) or ': "barnabas lab list" lists them'
        raise UsageError(f'there is no scenario "{name}"{hint}')
    return known[name]


def run(args: Parsed) -> int:
    from barnabas.lab.scenarios.telling import show_lines

    for number, name in enumerate(args.words):
        print_lines([""] if number else [])
        print_lines(show_lines(scenario_of(name)))
    return 0


COMMAND = Command(
    summary="Show what a scenario asks, does and predicts.",
    examples=("3.2b", "3.4 3.4-fix"),
    options=(),
    run=run,
    words=(1, 100),
    words_are="scenarios",
)
