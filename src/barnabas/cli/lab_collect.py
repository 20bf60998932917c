"""`barnabas lab collect`: the payload logs of each side, sorted into one file."""

from __future__ import annotations

from barnabas.cli.command import Command, CommandError
from barnabas.cli.lab_common import DIR, YES, agree, folder_of
from barnabas.cli.options import Parsed
from barnabas.cli.printing import print_lines


def run(args: Parsed) -> int:
    folder = folder_of(args)
    from barnabas.lab.programs.collecting import SIDES, collect, logs_of
    from barnabas.lab.programs.payload_log import PayloadError

    sides = [side for side in SIDES if logs_of(folder, side)]
    if not sides:
        raise CommandError(f"no payload logs in {folder / 'producer'} and {folder / 'consumer'}")
    there = [str(path) for side in sides if (path := folder / f"{side}.log").exists()]
    if there:
        agree(args, f"{' and '.join(there)} will be overwritten. Go on?")
    try:
        found = collect(folder)
    except PayloadError as error:
        raise CommandError(str(error)) from None
    print_lines(f"{one.target}: {one.count:,} records of {len(one.sources)} logs" for one in found)
    return 0


COMMAND = Command(
    summary="Sort the payload logs of each side into producer.log and consumer.log; remove them.",
    examples=("", "--dir labs/acks --yes"),
    options=(DIR, YES),
    run=run,
    notes=(
        (
            "Lines are sorted by topic, partition and key, so that diff shows what was lost (a "
            "line only of the producers) and what came more than once (an extra line of the "
            'consumers). "barnabas lab diff" says the same in words.'
        ),
    ),
)
