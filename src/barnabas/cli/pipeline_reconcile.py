"""`barnabas pipeline reconcile`: what was sent, beside what was received."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING

from barnabas.cli.command import Command
from barnabas.cli.common import JSON
from barnabas.cli.options import Parsed
from barnabas.cli.pipeline import (
    check_reachable,
    options_of,
    properties_of,
    read_definition,
    session,
)
from barnabas.cli.printing import show, table
from barnabas.pipelines.definition import Reconcile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from barnabas.pipelines.reconcile_report import Finding, Report

DIFFERENT = 1


def run(args: Parsed) -> int:
    definition = read_definition(args, Reconcile)
    properties = properties_of(definition)
    if any(name.startswith("topic:") for name in (*definition.sent, *definition.received)):
        check_reachable(properties)
    from barnabas.pipelines.reconcile import reconcile

    with session("reconcile", definition) as spark, tempfile.TemporaryDirectory() as folder:
        report = reconcile(spark, definition, properties, definition.to or f"{folder}/found")
    show(args, lines=lambda: report_lines(report), document=lambda: report)
    return 0 if report.is_clean else DIFFERENT


def report_lines(report: Report) -> list[str]:
    """A table of counts, and below it the differences, kind by kind."""
    from barnabas.pipelines.reconcile_report import KINDS

    names = ("sent", "received", *KINDS)
    rows: list[Sequence[object]] = [
        (count.topic, count.partition, *(getattr(count, name) for name in names))
        for count in report.counts
    ]
    if len(rows) > 1:
        sums = (sum(getattr(count, name) for count in report.counts) for name in names)
        rows.append(("all", "", *sums))
    lines = table(("topic", "partition", *names), rows)
    for kind in KINDS:
        found = [each for each in report.findings if each.kind == kind]
        if found:
            total = sum(getattr(count, kind) for count in report.counts)
            lines += ["", f"{kind}: {total}"]
            lines += [finding_line(each) for each in found]
            if sum(each.times for each in found) < total:
                lines.append("  ...")
    return lines


def finding_line(finding: Finding) -> str:
    times = f", {finding.times} times" if finding.times > 1 else ""
    places = [
        f"{said} {name}:{at}"
        for said, name, at in (
            ("sent", finding.sent_in, finding.sent_at),
            ("received", finding.received_in, finding.received_at),
        )
        if name is not None
    ]
    key = finding.key or "(no key)"
    return f"  {finding.topic}-{finding.partition} {key}{times}: {', '.join(places)}"


COMMAND = Command(
    summary="Compare what was sent with what was received: records that were lost, duplicated, "
    "reordered, or never sent, by partition.",
    examples=(
        "--sent producer.log --received consumer.log",
        "--sent 'logs/payload-*.log' --received topic:orders --to differences",
        "--sent topic:orders --received lake:lake --json",
    ),
    options=(*options_of(Reconcile), JSON),
    run=run,
    notes=(
        (
            "A payload log has a line for each record, topic,partition,key,value; only the value "
            "may have commas. Places are lines of logs, or offsets."
        ),
        "Exit status 0: nothing differs. 1: something does, or the comparison failed.",
    ),
)
