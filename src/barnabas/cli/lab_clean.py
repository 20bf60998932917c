"""`barnabas lab clean`: removes what labs leave behind."""

from __future__ import annotations

from barnabas.cli.command import Command, CommandError
from barnabas.cli.lab_common import DIR, YES, agree, folder_of
from barnabas.cli.options import Option, Parsed
from barnabas.cli.printing import print_lines


def run(args: Parsed) -> int:
    folder = folder_of(args)
    from barnabas.lab.programs.collecting import data_directories, is_in_use, leavings, remove

    found = leavings(folder)
    if args.has("data"):
        directories = data_directories(folder)
        for directory in directories:
            if is_in_use(directory):
                raise CommandError(f"a broker runs on {directory}: stop it first")
        if directories:
            listed = ", ".join(map(str, directories))
            agree(args, f"All data in {listed} will be removed. Go on?")
        found += directories
    remove(found)
    print_lines(f"removed {path}" for path in found)
    return 0


COMMAND = Command(
    summary="Remove payload logs, and with --data the data directories of brokers.",
    examples=("", "--dir labs/acks --data"),
    options=(
        DIR,
        YES,
        Option(
            name="data",
            help="Also remove every directory below that is one of a broker (it has a "
            "meta.properties), unless the broker runs. Asks first.",
        ),
    ),
    run=run,
)
