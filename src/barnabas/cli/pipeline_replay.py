"""`barnabas pipeline replay`: a lake back into topics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.cli.command import Command
from barnabas.cli.options import Parsed
from barnabas.cli.pipeline import (
    Shown,
    check_metrics,
    check_reachable,
    ending,
    options_of,
    properties_of,
    read_definition,
    session,
)
from barnabas.pipelines.definition import Replay

if TYPE_CHECKING:
    from barnabas.pipelines.replay import Plan

WHAT = "replayed"


def run(args: Parsed) -> int:
    definition = read_definition(args, Replay)
    properties = properties_of(definition)
    check_reachable(properties)
    check_metrics(definition.metrics)
    from barnabas.cli.progress import Progress
    from barnabas.pipelines import replay

    with session("replay", definition) as spark, Progress(WHAT) as progress:

        def begin(plan: Plan) -> None:
            progress.at(0, what=f"{WHAT}: {len(plan.runs)} batches")

        outcome = replay.run(spark, definition, properties, begin=begin, show=Shown(progress, WHAT))
    return ending(WHAT, outcome)


COMMAND = Command(
    summary="Write the records of a lake back into topics, each exactly once, in the order of "
    "their offsets.",
    examples=(
        "--lake lake --checkpoint replay-1",
        "--lake lake --checkpoint replay-2 --topic orders --rename orders=orders-again",
        "--lake lake --checkpoint replay-3 --where \"timestamp >= '2026-01-01'\" --partitions key",
    ),
    options=options_of(Replay),
    run=run,
    notes=(
        (
            "What is in the lake when the replay begins is what is written; the same command, "
            "given again, goes on where it was."
        ),
    ),
)
