"""The table: medians of all rounds, ratios, and whether the goal of each row is reached."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from session import Session
from targets import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """`better` is higher or lower; `digits` after the point."""

    title: str
    better: str
    digits: int = 1


METRICS = {
    "mb_per_s": Metric(title="MB/s", better="higher"),
    "cpu_s_per_gb": Metric(title="broker CPU s/GB", better="lower", digits=2),
    "p50_ms": Metric(title="p50 ms", better="lower", digits=2),
    "p99_ms": Metric(title="p99 ms", better="lower", digits=2),
    "start_s": Metric(title="start, s", better="lower", digits=2),
    "idle_rss_mb": Metric(title="idle RSS, MB", better="lower"),
    "loaded_rss_mb": Metric(title="RSS after load, MB", better="lower"),
    "requests_per_s": Metric(title="requests/s", better="higher", digits=0),
    "p99_us": Metric(title="p99 µs", better="lower", digits=0),
    "cpu_us_per_req": Metric(title="broker CPU µs/request", better="lower"),
    "beat_us": Metric(title="broker CPU µs/heartbeat", better="lower"),
    "commit_us": Metric(title="broker CPU µs/commit", better="lower"),
    "join_ms": Metric(title="a member joins: stable after, ms", better="lower"),
    "join_cpu_ms": Metric(title="a member joins: broker CPU ms", better="lower", digits=0),
    "join_shared_ms": Metric(title="the same, CPUs shared with the members", better="lower"),
    "join_batch_ms": Metric(title="the same, members as a batch job", better="lower"),
    "join_apart_ms": Metric(title="the same, members on a CPU of their own", better="lower"),
    "leave_ms": Metric(title="a member leaves: stable after, ms", better="lower"),
    "leave_cpu_ms": Metric(title="a member leaves: broker CPU ms", better="lower", digits=0),
    "leave_shared_ms": Metric(title="the same, CPUs shared with the members", better="lower"),
    "leave_batch_ms": Metric(title="the same, members as a batch job", better="lower"),
    "leave_apart_ms": Metric(title="the same, members on a CPU of their own", better="lower"),
    "groups_rss_mb": Metric(title="RSS meanwhile, MB", better="lower"),
    "cluster_cpu_s_per_gb": Metric(title="CPU s/GB of the cluster", better="lower", digits=2),
    "failover_s": Metric(title="until acknowledged or led again, s", better="lower", digits=2),
    "catch_up_mb_per_s": Metric(title="in sync again, MB/s", better="higher"),
    "copy_cpu_s_per_gb": Metric(title="CPU s/GB meanwhile", better="lower", digits=2),
    "read_rows_per_s": Metric(title="rows/s", better="higher", digits=0),
    "rows_per_s": Metric(title="rows/s", better="higher", digits=0),
    "tool_s": Metric(title="s", better="lower", digits=2),
    "tool_cpu_s": Metric(title="CPU s", better="lower", digits=2),
    "limit_1024": Metric(title="with 1,024 open files", better="lower"),
}

HEADINGS = {
    "produce": "Produce",
    "consume": "Consume (from the page cache)",
    "latency": "End-to-end latency at 1,000 records/s",
    "process": "Start-up and memory",
    "replay": "Replayed Produce requests (acks=1, one connection, one partition)",
    "partitions": "A thousand partitions",
    "groups": "Groups",
    "cluster": "Three brokers",
    "tools": "Tools, from Enter to the next prompt",
    "spark": "Spark: our source and sink, and Spark's own Kafka connector in Apache Kafka's column",
}

AT_MOST = {
    ("process", "start_s"): 0.3,
    ("process", "idle_rss_mb"): 60.0,
    ("partitions", "start_s"): 2.0,
    ("partitions", "idle_rss_mb"): 120.0,
    ("cluster", "failover_s"): 2.0,
    ("tools", "tool_s"): 0.3,
}
"""Goals that are a value of their own."""

AS_GOOD_AS_APACHE = {
    ("produce", "mb_per_s"),
    ("produce", "cpu_s_per_gb"),
    ("consume", "mb_per_s"),
    ("consume", "cpu_s_per_gb"),
    ("latency", "p99_ms"),
    ("groups", "beat_us"),
    ("groups", "commit_us"),
    ("groups", "join_ms"),
    ("groups", "join_cpu_ms"),
    ("groups", "leave_ms"),
    ("groups", "leave_cpu_ms"),
    ("groups", "groups_rss_mb"),
    ("cluster", "mb_per_s"),
    ("cluster", "cluster_cpu_s_per_gb"),
    ("cluster", "failover_s"),
    ("cluster", "catch_up_mb_per_s"),
    ("cluster", "copy_cpu_s_per_gb"),
    ("cluster", "start_s"),
    ("tools", "tool_s"),
    ("tools", "tool_cpu_s"),
    ("spark", "read_rows_per_s"),
}
"""Goals that are Apache Kafka's own value."""

Value = float | str | None


def shown(value: Value, metric: Metric) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) else f"{value:,.{metric.digits}f}"


def ratio(ours: Value, theirs: Value) -> str:
    if isinstance(ours, float) and isinstance(theirs, float) and theirs:
        return f"{ours / theirs:.2f}"
    return "-"


def goal(part: str, name: str, ours: Value, theirs: Value) -> str:
    """`yes`, `NO`, or nothing where there is no goal or nothing to judge by."""
    if (part, name) == ("partitions", "limit_1024"):
        return "yes" if ours == "works" else "NO"
    if not isinstance(ours, float):
        return ""
    if (part, name) in AT_MOST and ours >= AT_MOST[part, name]:
        return "NO"
    if (part, name) in AS_GOOD_AS_APACHE and isinstance(theirs, float):
        higher = METRICS[name].better == "higher"
        return "yes" if (ours >= theirs if higher else ours <= theirs) else "NO"
    return "yes" if (part, name) in AT_MOST else ""


def section(session: Session, part: str, targets: Sequence[Target]) -> list[str]:
    """One part as a Markdown table, in the order in which its cases were measured."""
    rows = list(dict.fromkeys((s.case, s.metric) for s in session.samples if s.part == part))
    if not rows:
        return []
    heads = " | ".join(target.label for target in targets)
    lines = [f"## {HEADINGS[part]}", ""]
    lines.append(f"| Case | Measured | {heads} | Barnabas / Apache | Goal reached |")
    lines.append("|---|---|" + "---:|" * (len(targets) + 1) + "---|")
    previous = ""
    for case, name in rows:
        values = {t.name: session.median(part, case, name, t.name) for t in targets}
        ours, theirs = values.get("barnabas"), values.get("apache")
        cells = [case if case != previous else "", METRICS[name].title]
        cells += [shown(values[target.name], METRICS[name]) for target in targets]
        cells += [ratio(ours, theirs), goal(part, name, ours, theirs)]
        lines.append("| " + " | ".join(cells) + " |")
        previous = case
    return [*lines, ""]


NOTES = """\
How it is measured: all brokers run on the same machine and disk, one of each kind side by side, and
take turns within every round; only one is under load at a time, and each is loaded before anything
counts, so that code is compiled and caches are warm. Values are the medians of the rounds. MB are
10^6 bytes of record values. Broker CPU is user and system time of the broker's process and its
children. The client runs beside the broker on the same cores: MB/s say what the pair reaches, CPU
what the broker takes. Start is the time from the start of the process to the first answer to a
Metadata request, on a directory that was used before. RSS is the resident memory of the process and
its children; "after load" is right after writing and reading about 500 MB. The replayed request is
one that the client really sent to that broker, in the version they agreed on. librdkafka's mock
cluster is a test double: it keeps the newest 5 MB of a partition in memory, does not wake waiting
fetches, and cannot talk with the Java client. Members of groups are driven request by request, each
on a connection of its own, with the same bytes for every broker: heartbeats and commits (one offset
each) as fast as they are answered, one under way per member. For a rebalance, a member joins or
leaves a stable group on a topic of 600 partitions while all others send heartbeats every 50 ms; the
group is stable when all members have the same generation or epoch and every partition one owner.
A member comes and goes 60 times before that counts: it takes a JVM so long to be at its best. A
rebalance takes a few dozen milliseconds, in which it matters who gets a CPU when the broker and the
program that plays the members could both run. So it is timed in three ways: with that program as
any other process; as a batch job, which does not push the broker off its CPU whenever an answer
comes; and on a CPU of its own, as members on other machines have, with the rest for the broker. For
each broker its best median counts, and the table has all of them.
Of clusters only one runs at a time; the CPU is that of all its processes, the controller included.
A leader's death: from `kill -9` until the first record that was sent after it is acknowledged. An
empty follower: its data is removed while it is stopped; from its first answer until all its
replicas are in sync, and all that it copied counts. Many partitions: all brokers are started at
once, until every replica is in sync; then one is killed, until every partition has another leader.
Tools are run by each side against its own broker, which has ten topics; Apache Kafka's in a JVM
with the flags of its scripts, without the time that those scripts take. Spark runs in one session
with two cores (`local[2]`), shared with our broker, which both connectors read; topics have two
partitions and are in the page cache. Rows go to Spark's `noop` sink with all their columns; the
windowed count has windows of a second. A row counts as visible when a `foreachBatch` has it on the
driver."""


def refreshed(page: str, session: Session, facts: Mapping[str, str], date: str) -> str:
    """The page with new tables for what was measured; everything else on it stays as it is."""
    found = re.split(r"^(?=## )", page, flags=re.MULTILINE)
    top, sections = found[0], {text.partition("\n")[0]: text for text in found[1:]}
    python, load = facts["Barnabas"].split(", ")[1], facts["Other load"]
    for part, heading in HEADINGS.items():
        if lines := section(session, part, session.targets):
            lines[1:1] = [
                "",
                f"Measured by itself on {date}: {python}; {_rounds(session)}; other load: {load}.",
            ]
            sections[f"## {heading}"] = "\n".join([*lines, ""])
    sections["## Notes"] = f"## Notes\n\n{NOTES}\n"
    order = [f"## {heading}" for heading in (*HEADINGS.values(), "Notes")]
    return top + "".join(sections[heading] for heading in order if heading in sections)


def _rounds(session: Session) -> str:
    return f"{session.rounds} round{'s' * (session.rounds > 1)}"


def markdown(session: Session, facts: Mapping[str, str], date: str) -> str:
    lines = ["# Benchmarks"]
    lines += ["Barnabas beside Apache Kafka, on one machine, in one run. Repeat it with:", ""]
    lines += ["    make bench", ""]
    lines += [f"Measured on {date}, {_rounds(session)}.", ""]
    lines += ["| | |", "|---|---|"]
    lines += [f"| {name} | {text} |" for name, text in facts.items()]
    lines.append("")
    for part in HEADINGS:
        lines += section(session, part, session.targets)
    lines += ["## Notes", "", NOTES, ""]
    return "\n".join(lines)
