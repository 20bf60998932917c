"""The report: one page that needs nothing but itself.  Pure: results and timelines in, HTML out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from barnabas.lab.report.picture import numbered, picture
from barnabas.lab.report.style import CSS
from barnabas.lab.scenarios.result import ranges
from barnabas.lab.scenarios.telling import cluster_text, following, topic_text

if TYPE_CHECKING:
    from barnabas.lab.scenarios.result import Result
    from barnabas.lab.timeline.model import Timeline

LEGEND = (
    "Partitions are lanes in the colour of the broker that leads; a dashed red frame has no "
    "leader. Thin lines below are replicas, coloured while they are in sync. Red triangles stand "
    "where records were stored that got lost."
)


def page(runs: Sequence[tuple[Result, Timeline]]) -> str:
    """All runs, one below the other; an overview first if there are several."""
    good = sum(result.predicted for result, _ in runs)
    name = runs[0][0].scenario.name if len(runs) == 1 else "all runs"
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>Barnabas lab: {escape(name)}</title><style>{CSS}</style></head><body>",
        "<h1>Barnabas break-fix lab</h1>",
        f'<p class="soft">{good} of {len(runs)} runs came out as predicted.</p>',
    ]
    if len(runs) > 1:
        parts.append(_overview([result for result, _ in runs]))
    parts += [_section(number, *run) for number, run in enumerate(runs, 1)]
    return "\n".join([*parts, "</body></html>", ""])


def _overview(results: Sequence[Result]) -> str:
    rows = "".join(
        f'<tr><td><a href="#run-{number}">{escape(each.scenario.name)}</a></td>'
        f"<td>{escape(each.scenario.title)}</td><td>{each.counts['lost']:,}</td>"
        f"<td>{each.counts['duplicated']:,}</td><td>{each.seconds:.1f}</td>"
        f"<td>{'yes' if each.predicted else 'no'}</td></tr>"
        for number, each in enumerate(results, 1)
    )
    head = "".join(
        f"<th>{each}</th>"
        for each in ("Scenario", "", "Lost", "Duplicated", "Seconds", "As predicted")
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _section(number: int, result: Result, timeline: Timeline) -> str:
    scenario = result.scenario
    word = "as predicted" if result.predicted else "not as predicted"
    badge = f'<span class="badge {"yes" if result.predicted else "no"}">{word}</span>'
    title = f"{scenario.name} {scenario.title}"
    drawn = picture(timeline, result.verdict.lost, title=title)
    parts = [
        f'<section id="run-{number}">',
        f"<h2>{escape(title)}{badge}</h2>",
        f"<p><b>{escape(scenario.question)}</b></p><p>{escape(scenario.does)}</p>",
        _counts(result),
        drawn,
        f'<p class="soft">{LEGEND}</p>',
        f'<h3>Why</h3><p class="takeaway">{escape(scenario.takeaway)}</p>',
        _listing("Not as predicted", result.surprises),
        _listing("Offending records", ranges(result.offending)),
        _marks(timeline),
        _settings(result),
        "</section>",
    ]
    return "\n".join(part for part in parts if part)


def _counts(result: Result) -> str:
    verdict = result.verdict
    shown = [
        ("sent", verdict.sent, False),
        ("acknowledged", verdict.acknowledged, False),
        ("processed", verdict.received, False),
        ("lost", result.counts["lost"], True),
        ("duplicated", result.counts["duplicated"], True),
    ]
    if verdict.aborted:
        shown.append(("aborted, and read", len(verdict.aborted), True))
    if verdict.foreign:
        shown.append(("foreign", len(verdict.foreign), True))
    items = "".join(
        f"<li{' class=bad' if is_bad and count else ''}><b>{count:,}</b>{name}</li>"
        for name, count, is_bad in shown
    )
    return f'<ul class="counts">{items}<li><b>{result.seconds:.1f}</b>seconds</li></ul>'


def _listing(heading: str, lines: Iterable[str]) -> str:
    text = "\n".join(lines)
    return f"<h3>{heading}</h3><pre>{escape(text)}</pre>" if text else ""


def _marks(timeline: Timeline) -> str:
    numbers = {id(mark): number for number, mark in enumerate(numbered(timeline), 1)}
    rows = "".join(
        f'<tr class="{mark.kind.value}"><td class="time">{mark.at:.1f} s</td>'
        f'<td class="time">{numbers.get(id(mark), "")}</td><td>{escape(mark.text)}</td></tr>'
        for mark in timeline.marks
    )
    return f"<h3>What happened</h3><table><tbody>{rows}</tbody></table>"


def _settings(result: Result) -> str:
    scenario = result.scenario
    lines = [f"cluster   {cluster_text(scenario)}"]
    if scenario.topic.partitions:
        lines.append(f"topic     {topic_text(scenario)}")
    for name, options in (("producer", scenario.producer), ("consumer", scenario.consumer)):
        if options:
            words = " ".join(f"--{key} {value}" for key, value in options.items())
            lines.append(f"{name}  {words}")
    lines += ["", f"barnabas lab run {scenario.name}"]
    lines += [f"next: barnabas lab run {name}" for name in following(scenario)]
    return f"<h3>Settings</h3><pre>{escape(chr(10).join(lines))}</pre>"
