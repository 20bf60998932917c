"""What `lab list`, `lab show` and the end of a run say.  Pure: values in, lines out."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from barnabas.lab.scenarios.result import RANGES_MAX, ranges
from barnabas.lab.timeline.frame import BOLD, GREEN, RED, paint

if TYPE_CHECKING:
    from barnabas.lab.scenarios.declaration import Scenario
    from barnabas.lab.scenarios.result import Result


def list_lines(scenarios: Iterable[Scenario]) -> list[str]:
    """One line a scenario."""
    rows = [(each.name, each.half, str(each.expect), each.title) for each in scenarios]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return [f"{name:<{widths[0]}}  {half:<{widths[1]}}  {title}" for name, half, _, title in rows]


def show_lines(scenario: Scenario, *, columns: int = 100) -> list[str]:
    """All of it: what is asked, done and predicted, and the same by hand."""
    lines = [f"{scenario.name}  {scenario.title}", ""]
    lines += [
        *_labelled("Question", scenario.question, columns),
        *_labelled("Does", scenario.does, columns),
        *_labelled("Predicts", f"{scenario.expect}.", columns),
    ]
    for text in scenario.expect.sights.values():
        lines += _labelled("", f"Seen on the way: {text}.", columns)
    lines += ["", f"Cluster    {cluster_text(scenario)}"]
    if scenario.topic.partitions:
        lines += [f"Topic      {topic_text(scenario)}"]
    lines += _options("Producer", scenario.producer)
    lines += _options("Consumer", scenario.consumer)
    lines += ["", *_labelled("Takeaway", scenario.takeaway, columns)]
    lines += ["", f"Run it     barnabas lab run {scenario.name}"]
    if scenario.next:
        lines += [f"Try next   {', '.join(scenario.next)}"]
    return lines


def cluster_text(scenario: Scenario) -> str:
    plan = scenario.cluster
    brokers = "1 broker" if plan.brokers == 1 else f"a controller and {plan.brokers} brokers"
    return ", ".join([brokers, *_pairs(plan.settings)])


def topic_text(scenario: Scenario) -> str:
    plan = scenario.topic
    partitions = "1 partition" if plan.partitions == 1 else f"{plan.partitions} partitions"
    replicas = "1 replica" if plan.replication == 1 else f"{plan.replication} replicas"
    return ", ".join([f"{partitions}, {replicas}", *_pairs(plan.configs)])


def _pairs(values: Mapping[str, str]) -> list[str]:
    return [f"{key}={value}" for key, value in values.items()]


def _options(label: str, values: Mapping[str, str]) -> list[str]:
    words = " ".join(f"--{key} {value}" for key, value in values.items())
    return [f"{label:<10} {words}"] if words else []


def _labelled(label: str, text: str, columns: int) -> list[str]:
    return textwrap.wrap(text, columns, initial_indent=f"{label:<10} ", subsequent_indent=" " * 11)


def verdict_lines(result: Result, *, columns: int = 100, is_coloured: bool = False) -> list[str]:
    """The end of a run: counts, offending records, as predicted or not, why, what next."""
    scenario, verdict = result.scenario, result.verdict
    word = "as predicted" if result.predicted else "NOT as predicted"
    colour = GREEN if result.predicted else RED
    counts = ", ".join(
        f"{count:,} {name}"
        for name, count in result.counts.items()
        if name in ("lost", "duplicated") or (name in ("aborted", "foreign") and count)
    )
    heading = f"{scenario.name}: {word}: {counts}  ({result.seconds:.1f} s)"
    lines = ["", paint(heading, colour, is_coloured=is_coloured)]
    lines.append(
        f"  sent {verdict.sent:,}, acknowledged {verdict.acknowledged:,}, "
        f"processed {verdict.received:,}"
    )
    lines += _offending(result, columns)
    lines += [f"  ! {surprise}" for surprise in result.surprises]
    if result.predicted:  # else there is something else to think about
        lines.append("")
        lines += textwrap.wrap(
            scenario.takeaway, columns, initial_indent="  ", subsequent_indent="  "
        )
    if scenario.next:
        commands = "  or  ".join(f"barnabas lab run {name}" for name in following(scenario))
        lines.append(paint(f"  next: {commands}", BOLD, is_coloured=is_coloured))
    return lines


def following(scenario: Scenario) -> Sequence[str]:
    """What to try next; after a break its own fix comes first, if there is one."""
    from barnabas.lab.scenarios.catalogue import all_scenarios

    fix = f"{scenario.exercise}-fix"
    own = [fix] if scenario.half == "break" and fix in all_scenarios() else []
    return [*own, *scenario.next]


def _offending(result: Result, columns: int) -> list[str]:
    lines = [f"  {line}"[:columns] for line in ranges(result.offending)]
    more = len(lines) - RANGES_MAX
    return lines if more <= 0 else [*lines[:RANGES_MAX], f"  ... and {more} more partitions"]


def summary_lines(results: Sequence[Result], seconds: float) -> list[str]:
    """After several runs: one line each, and the total."""
    width = max(len(result.scenario.name) for result in results)
    lines = ["", f"{'':<4} {'name':<{width}}  {'lost':>7} {'duplicated':>10} {'seconds':>8}"]
    for result in results:
        sign = "ok" if result.predicted else "NOT"
        counts = result.counts
        lines.append(
            f"{sign:<4} {result.scenario.name:<{width}}  {counts['lost']:>7,} "
            f"{counts['duplicated']:>10,} {result.seconds:>8.1f}  {result.scenario.title}"
        )
    good = sum(result.predicted for result in results)
    lines.append(f"{good} of {len(results)} as predicted, {seconds:.0f} s in all")
    return lines
