"""`kafka-dump-log`: what lies in log files, indexes and snapshots, line by line."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from barnabas.cli.command import Command, CommandError, raise_on_sigterm
from barnabas.cli.options import INT_MAX, Option, Parsed, UsageError, at_most_one, required

if TYPE_CHECKING:
    from barnabas.cli.dump_log_decoders import Parser
    from barnabas.cli.dump_log_files import Findings, Tick, Wishes
    from barnabas.cli.progress import Progress

DEFAULT_DECODER = "StringDecoder"
MAX_MESSAGE_SIZE = 5 * 1024 * 1024
LINES_AT_ONCE = 500
RECORD_DECODERS = (
    "offsets-decoder",
    "transaction-log-decoder",
    "cluster-metadata-decoder",
    "share-group-state-decoder",
)
CLASS_DECODERS = ("key-decoder-class", "value-decoder-class")

OPTIONS = (
    Option(
        name="files",
        value="FILE,...",
        help="The files to look into: .log, .index, .timeindex, .txnindex, .snapshot, .checkpoint. "
        "Required.",
    ),
    Option(
        name="print-data-log",
        help="Print keys and values of records too. Every decoder says this as well.",
    ),
    Option(
        name="deep-iteration",
        help="Print records, not only batches. --print-data-log says this as well.",
    ),
    Option(
        name="skip-record-metadata",
        help="Print only keys and values of records, and nothing of control records.",
    ),
    Option(
        name="index-sanity-check",
        help="Of indexes, only check what a broker checks when it starts.",
    ),
    Option(
        name="verify-index-only",
        help="Of indexes, only compare with the log, without printing their entries.",
    ),
    Option(
        name="max-message-size",
        value="BYTES",
        whole=(1, INT_MAX),
        help=f"The largest batch that an index may point to. Default: {MAX_MESSAGE_SIZE}.",
    ),
    Option(
        name="max-bytes",
        value="BYTES",
        whole=(0, INT_MAX),
        help="Read no more than so many bytes of a log. Default: all of them.",
    ),
    Option(
        name="key-decoder-class",
        value="NAME",
        alone=DEFAULT_DECODER,
        help="How keys are shown: StringDecoder (the default), IntegerDecoder, LongDecoder, "
        "DefaultDecoder, or any deserializer of kafka-console-consumer.",
    ),
    Option(
        name="value-decoder-class",
        value="NAME",
        alone=DEFAULT_DECODER,
        help="How values are shown: like --key-decoder-class.",
    ),
    Option(
        name="offsets-decoder", help="Show the records of __consumer_offsets: groups, positions."
    ),
    Option(name="transaction-log-decoder", help="Show the records of __transaction_state."),
    Option(name="cluster-metadata-decoder", help="Show the records of the metadata log."),
    Option(name="share-group-state-decoder", help="Show the records of __share_group_state."),
)


def run(args: Parsed) -> int:
    paths = files_of(args)
    wishes = wishes_of(args)
    from barnabas.cli.dump_log_files import Findings
    from barnabas.cli.progress import Progress

    raise_on_sigterm()
    findings = Findings()
    total = sum(map(os.path.getsize, paths))
    with Progress("dumping", total=total, unit="bytes") as progress:
        done = 0
        for path in paths:
            # On a terminal the lines themselves show how far it has got.
            tick = _ignore if sys.stdout.isatty() else partial(_tick, progress, done)
            dump(path, wishes, findings, tick)
            done += os.path.getsize(path)
    tell(findings, count=len(paths))
    return 0


def _tick(progress: Progress, before: int, done: int) -> None:
    progress.at(before + done)


def _ignore(done: int) -> None:
    """Nobody looks."""


def files_of(args: Parsed) -> list[str]:
    """The files asked for; `UsageError` unless all of them can be opened."""
    paths = [path for path in required(args, "files").split(",") if path]
    if not paths:
        raise UsageError("--files: names no file")
    for path in paths:
        try:
            open(path, "rb").close()
        except OSError as error:
            raise UsageError(f"--files: cannot read {path}: {error.strerror}") from None
    return paths


def wishes_of(args: Parsed) -> Wishes:
    """What was asked for; `UsageError` for options that do not go together."""
    from barnabas.cli.dump_log_files import Wishes

    at_most_one(args, *RECORD_DECODERS)
    prints = args.has("print-data-log") or any(map(args.has, (*RECORD_DECODERS, *CLASS_DECODERS)))
    max_message_size = args.number("max-message-size")
    parser = parser_of(args)
    return Wishes(
        deep=prints or args.has("deep-iteration"),
        parser=parser if prints else None,
        skip_metadata=args.has("skip-record-metadata"),
        sanity_only=args.has("index-sanity-check"),
        verify_only=args.has("verify-index-only"),
        max_message_size=MAX_MESSAGE_SIZE if max_message_size is None else max_message_size,
        max_bytes=args.number("max-bytes"),
    )


def parser_of(args: Parsed) -> Parser:
    """How keys and values are shown."""
    from barnabas.cli import dump_log_decoders as decoders

    if args.has("offsets-decoder"):
        return decoders.coordinator_parser(decoders.group_types())
    if args.has("transaction-log-decoder"):
        return decoders.coordinator_parser(decoders.transaction_types())
    if args.has("share-group-state-decoder"):
        return decoders.coordinator_parser(decoders.share_state_types())
    if args.has("cluster-metadata-decoder"):
        return decoders.metadata_parser
    return decoders.text_parser(
        args.text("key-decoder-class") or DEFAULT_DECODER,
        args.text("value-decoder-class") or DEFAULT_DECODER,
    )


def dump(path: str, wishes: Wishes, findings: Findings, tick: Tick) -> None:
    """Prints what is in one file.  What is wrong with it is noted, and ends this file alone."""
    from barnabas.cli.dump_log_files import DamagedError

    try:
        print_lines(file_lines(path, wishes, findings, tick))
    except DamagedError as error:
        findings.note_damage(os.path.abspath(path), str(error))


def file_lines(path: str, wishes: Wishes, findings: Findings, tick: Tick) -> Iterator[str]:
    """By the file's suffix; `DamagedError` where it makes no sense."""
    from barnabas.cli import dump_log_indexes as indexes
    from barnabas.cli.dump_log_files import log_lines

    yield f"Dumping {path}"
    suffix = os.path.splitext(path)[1]
    if suffix in (".index", ".timeindex") and wishes.sanity_only:
        yield indexes.sanity_line(path)
        return
    match suffix:
        case ".log" | ".checkpoint":
            yield from log_lines(path, wishes, findings, tick)
        case ".index":
            yield from indexes.offset_index_lines(path, wishes, findings)
        case ".timeindex":
            yield from indexes.time_index_lines(path, wishes, findings)
        case ".txnindex":
            yield from indexes.txn_index_lines(path)
        case ".snapshot":
            yield from indexes.snapshot_lines(path)
        case _:
            print(f"Ignoring unknown file {path}", file=sys.stderr)


def print_lines(lines: Iterator[str]) -> None:
    """Many at a time; all that came before an exception is printed all the same."""
    output = sys.stdout.buffer
    pending: list[str] = []
    try:
        for line in lines:
            pending.append(line)
            if len(pending) >= LINES_AT_ONCE:
                output.write("\n".join([*pending, ""]).encode("utf-8", "replace"))
                pending.clear()
    finally:
        output.write("\n".join([*pending, ""]).encode("utf-8", "replace") if pending else b"")
        output.flush()


def tell(findings: Findings, *, count: int) -> None:
    """Says what was found, and in the end, in one line, whether anything is wrong."""
    for line in findings.lines():
        print(line, file=sys.stderr)
    bad = findings.bad_files()
    if not bad:
        return
    files = "1 file is" if len(bad) == 1 else f"{len(bad)} files are"
    raise CommandError(f"{files} damaged, of {count}: {findings.reason(bad[0])}")


COMMAND = Command(
    summary="Print the batches and records of log files, and check their indexes.",
    examples=(
        "--files 00000000000000000000.log",
        "--files 00000000000000000000.log --print-data-log",
        "--files 00000000000000000000.index,00000000000000000000.timeindex --verify-index-only",
        "--files __consumer_offsets-12/00000000000000000000.log --offsets-decoder",
        "--files __cluster_metadata-0/00000000000000000000.log --cluster-metadata-decoder",
    ),
    options=OPTIONS,
    run=run,
    notes=(
        (
            "The files are only read: a broker may be running. What looks wrong is told on stderr, "
            "and the exit status is 1 if a file is damaged; gaps between offsets are normal in a "
            "compacted log and after the first segment."
        ),
    ),
)
