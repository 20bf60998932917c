"""`barnabas lab`: which commands the break-fix lab has."""

from __future__ import annotations

from barnabas.cli.command import Command
from barnabas.cli.near import did_you_mean
from barnabas.cli.options import Parsed, UsageError
from barnabas.cli.printing import print_lines
from barnabas.cli.tools import TOOLS

START = "lab "


def run(args: Parsed) -> int:
    commands = {
        name.removeprefix(START): tool.summary
        for name, tool in TOOLS.items()
        if name.startswith(START)
    }
    if args.words:
        word = args.words[0]
        raise UsageError(f'"{word}" is not a command of the lab{did_you_mean(word, commands)}')
    width = max(map(len, commands))
    print_lines(f"barnabas lab {name:<{width}}  {what}" for name, what in commands.items())
    return 0


COMMAND = Command(
    summary="The break-fix lab: see records get lost and doubled, and what keeps them from it. "
    "Lists its commands.",
    examples=("",),
    options=(),
    run=run,
    words=(0, 1000),
)
