"""`barnabas completion`: what makes a shell complete these commands, and the names of a cluster."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from barnabas.cli.command import Command
from barnabas.cli.common import DEFAULT_BOOTSTRAP, read_file
from barnabas.cli.options import Option, Parsed, UsageError

if TYPE_CHECKING:
    from barnabas.cli.completing import Candidate, Place, Wanted
    from barnabas.cli.tools import Tool
    from barnabas.client.brokers import Brokers

SHELLS = ("bash", "zsh", "fish")
PATIENCE_S = 0.5
"""Who has pressed Tab does not wait for longer."""

OPTIONS = (
    Option(
        name="candidates",
        value="LINE",
        help="What the scripts ask: how a line may go on that was typed up to here.",
    ),
    Option(
        name="shell",
        value="SHELL",
        choices=SHELLS,
        help="With --candidates: the shell that asks. Default: bash.",
    ),
)


def run(args: Parsed) -> int:
    line = args.text("candidates")
    if line is not None:
        _print_candidates(line, args.text("shell") or SHELLS[0])
        return 0
    if not args.words or args.words[0] not in SHELLS:
        asked = f'"{args.words[0]}" is not a shell known here' if args.words else "which shell?"
        raise UsageError(f"{asked}: {', '.join(SHELLS)}")
    from barnabas.cli.completion_scripts import script
    from barnabas.cli.tools import scripts

    sys.stdout.write(script(args.words[0], ["barnabas", *scripts()]))
    return 0


def _print_candidates(line: str, shell: str) -> None:
    from barnabas.cli.completing import Candidate, Kind, complete, lines_for
    from barnabas.cli.completion_scripts import FILES

    wanted = complete(line, _command_of)
    if wanted.kind is Kind.FILES:
        print(FILES)
        return
    found: Sequence[Candidate] = ()
    if wanted.kind is Kind.SCENARIOS:
        found = _scenarios()
    elif wanted.kind is not Kind.NOTHING:
        found = [Candidate(name) for name in _names(wanted)]
    lines = lines_for(shell, line, wanted.matching(found))
    sys.stdout.write("".join(f"{each}\n" for each in lines))


def _command_of(tool: Tool) -> Command:
    command: Command = import_module(tool.module).COMMAND
    return command


def _scenarios() -> list[Candidate]:
    from barnabas.cli.completing import Candidate
    from barnabas.lab.scenarios.catalogue import all_scenarios

    return [Candidate(each.name, each.title) for each in all_scenarios().values()]


def _names(wanted: Wanted) -> list[str]:
    """Of topics or groups, from a broker that answers quickly; else none."""
    from barnabas.cli.completing import Kind
    from barnabas.client.brokers import Brokers
    from barnabas.client.errors import ClientError
    from barnabas.client.group_details import states_by_group

    try:
        properties = _properties(wanted.place)
        with Brokers.connect(properties, timeout_s=PATIENCE_S) as brokers:
            if wanted.kind is Kind.GROUPS:
                return sorted(states_by_group(brokers))
            return _topics(brokers, with_internal=wanted.prefix.startswith("_"))
    except (ClientError, UsageError, ValueError):
        return []  # nothing to offer: whoever types on is told what is wrong


def _properties(place: Place) -> dict[str, str]:
    """Of the client, as the tool itself would have them."""
    properties = {"bootstrap.servers": DEFAULT_BOOTSTRAP}
    if place.config is not None:
        properties |= read_file("command-config", place.config)
    if place.servers is not None:
        properties["bootstrap.servers"] = place.servers
    return properties


def _topics(brokers: Brokers, *, with_internal: bool) -> list[str]:
    names = {topic for topic, _ in brokers.places(None)}
    return sorted(name for name in names if with_internal or not name.startswith("__"))


COMMAND = Command(
    summary="Print the script that makes a shell complete commands, options, topics and groups.",
    examples=SHELLS,
    options=OPTIONS,
    run=run,
    words=(0, 1),
    word_values=SHELLS,
    notes=(
        "bash: put  source <(barnabas completion bash)  into ~/.bashrc.",
        "zsh: put  source <(barnabas completion zsh)  into ~/.zshrc, after compinit.",
        "fish: put  barnabas completion fish | source  into ~/.config/fish/config.fish.",
        (
            "Names of topics and groups come from the broker that the line names, or from "
            f"{DEFAULT_BOOTSTRAP}; if none answers within half a second, none are offered."
        ),
    ),
)
