"""`barnabas lab list`: all scenarios of the break-fix lab."""

from __future__ import annotations

from barnabas.cli.command import Command
from barnabas.cli.common import JSON
from barnabas.cli.options import Parsed
from barnabas.cli.printing import show


def run(args: Parsed) -> int:
    from barnabas.lab.scenarios.catalogue import all_scenarios
    from barnabas.lab.scenarios.telling import list_lines

    scenarios = list(all_scenarios().values())
    show(
        args,
        lines=lambda: list_lines(scenarios),
        document=lambda: [
            {
                "name": each.name,
                "exercise": each.exercise,
                "half": each.half,
                "title": each.title,
                "question": each.question,
                "predicts": str(each.expect),
                "outside": each.outside,
            }
            for each in scenarios
        ],
    )
    return 0


COMMAND = Command(
    summary="List the lab's scenarios: what breaks, and what keeps it from breaking.",
    examples=("", "--json"),
    options=(JSON,),
    run=run,
    notes=(
        (
            'A "break" goes wrong on purpose, a "fix" is what keeps it from going wrong; both do '
            'the same to the cluster. "show" breaks nothing. "barnabas lab run NAME" runs one.'
        ),
    ),
)
