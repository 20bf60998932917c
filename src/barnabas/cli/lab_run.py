"""`barnabas lab run`: runs scenarios, shows what happens, and says what was lost and doubled."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.cli.command import Command, raise_on_sigterm
from barnabas.cli.common import JSON, check_bootstrap, read_pairs
from barnabas.cli.lab_show import scenario_of
from barnabas.cli.options import Option, Parsed, UsageError
from barnabas.cli.printing import print_json, print_lines

if TYPE_CHECKING:
    from barnabas.lab.scenarios.declaration import Scenario
    from barnabas.lab.scenarios.engine import Run

ALL = Option(name="all", help="Every scenario, one after the other.")
TIMES = Option(name="times", value="NUMBER", whole=(1, 1000), help="Run each so often. Default: 1.")
HTML = Option(
    name="html",
    value="FILE",
    help="Also write a page with a picture of the run. With several runs: of all of them.",
)
KEEP = Option(
    name="keep",
    value="DIR",
    help="Keep what the clients logged (payload logs, journals) in this directory.",
)
SET = Option(
    name="set",
    value="KEY=VALUE",
    many=True,
    help="Change a setting, to see what it does: producer.acks=all, consumer.ack-after-batch=true, "
    "topic.min.insync.replicas=2, cluster.replica.lag.time.max.ms=1000. What is predicted stays "
    "what the scenario predicts. May be repeated.",
)
QUIET = Option(name="quiet", help="Do not show the timeline, only the verdict.")
BOOTSTRAP = Option(
    name="bootstrap-server",
    value="HOST:PORT,...",
    help="Use this cluster in place of one of the lab's own; nothing of it is broken, so only "
    'scenarios that need no fault can be run ("outside" in "barnabas lab list --json").',
)


def run(args: Parsed) -> int:
    scenarios = _changed(args, _chosen(args))
    bootstrap = args.text("bootstrap-server")
    if bootstrap is not None:
        check_bootstrap(bootstrap)
        scenarios = _possible_outside(args, scenarios)
    _check_page(args.text("html"))
    raise_on_sigterm()
    began = time.monotonic()
    runs = []
    with ExitStack() as stack:
        keep = args.text("keep")
        folder = Path(keep or stack.enter_context(tempfile.TemporaryDirectory(prefix="lab-")))
        for number in range((args.number("times") or 1) * len(scenarios)):
            scenario = scenarios[number % len(scenarios)]
            runs.append(_run(args, scenario, folder / f"{number + 1:03d}-{scenario.name}"))
        _write_page(args, runs)
    if args.has("json"):
        from barnabas.lab.scenarios.result import document

        documents = [document(each.result) for each in runs]
        print_json(documents[0] if len(documents) == 1 else documents)
    elif len(runs) > 1:
        from barnabas.lab.scenarios.telling import summary_lines

        print_lines(summary_lines([each.result for each in runs], time.monotonic() - began))
    return 0 if all(each.result.predicted for each in runs) else 1


def _check_page(page: str | None) -> None:
    """Before a run that may take minutes, not behind it."""
    if page is None:
        return
    path = Path(page)
    if not path.absolute().parent.is_dir():
        raise UsageError(f"--html: there is no directory {path.parent}")
    if path.is_dir():
        raise UsageError(f"--html: {path} is a directory")
    if not os.access(path if path.exists() else path.absolute().parent, os.W_OK):
        raise UsageError(f"--html: {path} cannot be written")


def _chosen(args: Parsed) -> list[Scenario]:
    from barnabas.lab.scenarios.catalogue import all_scenarios

    if args.has("all"):
        if args.words:
            raise UsageError("give either --all or names")
        return list(all_scenarios().values())
    if not args.words:
        raise UsageError('the name of a scenario is missing: "barnabas lab list" lists them')
    return [scenario_of(name) for name in args.words]


def _changed(args: Parsed, scenarios: list[Scenario]) -> list[Scenario]:
    """With the settings that were typed; those that the programs refuse are told before a start."""
    pairs = read_pairs("set", args.texts("set"))
    if not pairs:
        return scenarios
    from barnabas.lab.programs.knobs import KnobError
    from barnabas.lab.programs.options import ConsumerOptions, ProducerOptions
    from barnabas.lab.scenarios.declaration import DeclarationError, changed

    try:
        found = [changed(each, pairs) for each in scenarios]
        for each in found:
            ProducerOptions.of(each.producer)
            ConsumerOptions.of(each.consumer)
    except (DeclarationError, KnobError) as error:
        raise UsageError(f"--set: {error}") from None
    return found


def _possible_outside(args: Parsed, scenarios: list[Scenario]) -> list[Scenario]:
    """With --all those that can be; by name, a word about the one that cannot."""
    if args.has("all"):
        return [each for each in scenarios if each.outside]
    for each in scenarios:
        if not each.outside:
            raise UsageError(
                f"--bootstrap-server: {each.name} breaks its cluster, so it needs one of its own"
            )
    return scenarios


def _run(args: Parsed, scenario: Scenario, folder: Path) -> Run:
    from barnabas.lab.scenarios.engine import run as run_scenario
    from barnabas.lab.scenarios.telling import verdict_lines

    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise UsageError(f"--keep: {folder} is there already") from None
    is_silent = args.has("json") or args.has("quiet")
    done = run_scenario(
        scenario,
        folder=folder.resolve(),
        stream=None if is_silent else sys.stdout,
        bootstrap=args.text("bootstrap-server"),
    )
    if not args.has("json"):
        print_lines(
            verdict_lines(
                done.result,
                columns=min(100, shutil.get_terminal_size((100, 24)).columns),
                is_coloured=sys.stdout.isatty() and "NO_COLOR" not in os.environ,
            )
        )
        sys.stdout.flush()
    return done


def _write_page(args: Parsed, runs: list[Run]) -> None:
    target = args.text("html")
    if target is None:
        return
    from barnabas.lab.report.page import page

    path = Path(target)
    path.write_text(page([(each.result, each.timeline) for each in runs]), encoding="utf-8")
    print(f"report: {path}", file=sys.stderr)


COMMAND = Command(
    summary="Run scenarios of the break-fix lab: start a cluster, break it, and judge what became "
    "of the records.",
    examples=(
        "3.2b",
        "3.4 3.4-fix --html report.html",
        "4.1 --set consumer.ack-after-batch=true",
        "--all --json",
        "2.2a --bootstrap-server localhost:9092",
    ),
    options=(ALL, TIMES, SET, HTML, KEEP, QUIET, JSON, BOOTSTRAP),
    run=run,
    words=(0, 100),
    words_are="scenarios",
    notes=(
        (
            "Ends with 0 if every run came out as its scenario predicts, loss and duplicates "
            "included, and with 1 if one did not."
        ),
        (
            "The verdict rests on what the clients logged, and on nothing else. The moment of a "
            "fault is chosen by what passes between clients and brokers, so a run comes out the "
            "same every time."
        ),
    ),
)
