"""`barnabas lab diff`: what was lost, and what came more than once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.cli.command import Command, CommandError
from barnabas.cli.common import (
    BOOTSTRAP,
    COMMAND_CONFIG,
    COMMAND_PROPERTY,
    JSON,
    client_properties,
    warn,
)
from barnabas.cli.lab_common import DIR, folder_of
from barnabas.cli.options import INT_MAX, Option, Parsed, UsageError
from barnabas.cli.printing import show

if TYPE_CHECKING:
    from barnabas.lab.verdict.records import History

OPTIONS = (
    DIR,
    JSON,
    replace(
        BOOTSTRAP,
        help="Also read the topics themselves: whether a lost record is there and was passed over, "
        "or is not there.",
    ),
    COMMAND_CONFIG,
    COMMAND_PROPERTY,
    Option(
        name="journal",
        value="FILE",
        many=True,
        help="Judge by this journal in place of payload logs: it has offsets, and what failed. "
        "Give those of all programs.",
    ),
    Option(
        name="shown",
        value="NUMBER",
        whole=(0, INT_MAX),
        help="How many records of a kind to list. Default: 10.",
    ),
)


def run(args: Parsed) -> int:
    history = history_of(args)
    from barnabas.lab.verdict import rows
    from barnabas.lab.verdict.judging import judge

    if args.has("bootstrap-server") or args.has("command-config"):
        _read_topics(args, history)
    verdict = judge(history)
    number = args.number("shown")
    shown = rows.SHOWN if number is None else number
    show(
        args,
        lines=lambda: rows.lines(verdict, shown=shown),
        document=lambda: rows.document(verdict),
    )
    return 0 if verdict.is_clean else 1


def history_of(args: Parsed) -> History:
    """From journals, or from payload logs: named ones, or those of the lab's folder."""
    from barnabas.lab.programs.collecting import history_of_logs, payload_files
    from barnabas.lab.programs.journaling import read_journals
    from barnabas.lab.programs.payload_log import PayloadError
    from barnabas.lab.verdict.journal import JournalError
    from barnabas.lab.verdict.journal import history_of as history_of_events

    journals = [Path(path) for path in args.texts("journal")]
    if journals and args.words:
        raise UsageError("give either payload logs or --journal")
    try:
        if journals:
            _check_there(journals)
            return history_of_events(read_journals(journals))
        producers, consumers = _sides(args)
        _check_there([producers, consumers])
        return history_of_logs(payload_files(producers), payload_files(consumers))
    except PayloadError as error:
        raise CommandError(str(error)) from None
    except JournalError as error:
        raise CommandError(f"--journal: {error}") from None


def _sides(args: Parsed) -> tuple[Path, Path]:
    if args.words:
        if len(args.words) != 2:
            raise UsageError("two payload logs, or folders with some, are needed")
        return Path(args.words[0]), Path(args.words[1])
    folder = folder_of(args)
    collected = folder / "producer.log", folder / "consumer.log"
    if all(path.exists() for path in collected):
        return collected
    return folder / "producer", folder / "consumer"


def _check_there(paths: Sequence[Path]) -> None:
    for path in paths:
        if not path.exists():
            raise CommandError(f"{path} does not exist")


def _read_topics(args: Parsed, history: History) -> None:
    from barnabas.lab.programs.reading import read_topic

    properties = client_properties(args, files=["command-config"], pairs=["command-property"])
    has_values = any(record.value is not None for record in history.sent)
    history.stored = [
        record if has_values else record._replace(value=None)
        for topic in sorted({record.topic for record in history.sent})
        for record in read_topic(properties, topic, warn=warn)
    ]


COMMAND = Command(
    summary="Compare what was sent with what was processed: what is lost, what came twice.",
    examples=(
        "",
        "producer.log consumer.log --json",
        "--bootstrap-server localhost:9092",
        "--journal p.journal --journal c.journal",
    ),
    options=OPTIONS,
    run=run,
    words=(0, 2),
    words_are="files",
    notes=(
        (
            "Without names these are producer.log and consumer.log of --dir or, if nothing was "
            "collected, the payload logs in producer/ and consumer/. The exit status is 0 if the "
            "two sides have the same records, and 1 if not."
        ),
    ),
)
