"""What the load tools count, and the lines in which they tell it.  Pure: time is an argument."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

MB = 1024 * 1024
PERCENTILES = (0.5, 0.95, 0.99, 0.999)


def percentiles(latencies: Counter[int], wanted: Sequence[float]) -> list[int]:
    """The latencies that these parts of all records stay below; `latencies` counts whole ms."""
    total = latencies.total()
    ranks = [int(part * total) for part in wanted]
    found: list[int] = []
    passed = 0
    for latency, count in sorted(latencies.items()):
        passed += count
        while len(found) < len(ranks) and ranks[len(found)] < passed:
            found.append(latency)
    return found + [0] * (len(wanted) - len(found))


@dataclass(slots=True)
class Sent:
    """Records that were acknowledged, how many bytes they had and how long it took."""

    since_ms: int
    count: int = 0
    size_bytes: int = 0
    total_ms: float = 0.0
    most_ms: float = 0.0

    def add(self, *, count: int, size_bytes: int, total_ms: float, most_ms: float) -> None:
        self.count += count
        self.size_bytes += size_bytes
        self.total_ms += total_ms
        self.most_ms = max(self.most_ms, most_ms)

    def rates(self, now_ms: int) -> tuple[float, float]:
        """Records and MB a second."""
        elapsed_s = max(now_ms - self.since_ms, 1) / 1000
        return self.count / elapsed_s, self.size_bytes / elapsed_s / MB

    @property
    def average_ms(self) -> float:
        return self.total_ms / self.count if self.count else 0.0


@dataclass(slots=True)
class SendStats:
    """Of a run of the producer, and of the interval that is going on."""

    started_ms: int
    interval_ms: int
    label: str = ""
    """What stands after the number of records: " steady state" after a warm-up."""
    is_quiet: bool = False
    """Whether intervals go by without a line."""
    total: Sent = field(init=False)
    window: Sent = field(init=False)
    latencies: Counter[int] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.total, self.window = Sent(self.started_ms), Sent(self.started_ms)

    def add(self, latencies_ms: Sequence[float], *, size_bytes: int) -> None:
        """Records that were acknowledged, `size_bytes` all together."""
        if not latencies_ms:
            return
        total, most = sum(latencies_ms), max(latencies_ms)
        for sums in (self.total, self.window):
            sums.add(count=len(latencies_ms), size_bytes=size_bytes, total_ms=total, most_ms=most)
        self.latencies.update(map(int, latencies_ms))

    def due_line(self, now_ms: int) -> str | None:
        """The line of the interval, once it is over; the next one begins."""
        if now_ms - self.window.since_ms < self.interval_ms or not self.window.count:
            return None
        line = self.window_line(now_ms)
        self.window = Sent(now_ms)
        return None if self.is_quiet else line

    def window_line(self, now_ms: int) -> str:
        records, megabytes = self.window.rates(now_ms)
        return (
            f"{self.window.count} records sent, {records:.1f} records/sec ({megabytes:.2f} MB/sec),"
            f" {self.window.average_ms:.1f} ms avg latency, "
            f"{self.window.most_ms:.1f} ms max latency."
        )

    def total_line(self, now_ms: int) -> str:
        records, megabytes = self.total.rates(now_ms)
        p50, p95, p99, p999 = percentiles(self.latencies, PERCENTILES)
        return (
            f"{self.total.count}{self.label} records sent, {records:f} records/sec "
            f"({megabytes:.2f} MB/sec), {self.total.average_ms:.2f} ms avg latency, "
            f"{self.total.most_ms:.2f} ms max latency, {p50} ms 50th, {p95} ms 95th, "
            f"{p99} ms 99th, {p999} ms 99.9th."
        )


RECEIVED_HEADING = (
    "start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, "
    "rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec"
)
INTERVAL_HEADING = (
    "time, threadId, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, "
    "rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """What has been received up to a moment, and how long it took to join the group for it."""

    time_ms: int
    count: int = 0
    size_bytes: int = 0
    joining_ms: int = 0


def _rates(start: Received, end: Received, elapsed_ms: int) -> tuple[float, float]:
    """MB and records a second."""
    if elapsed_ms <= 0:
        return 0.0, 0.0
    seconds = elapsed_ms / 1000
    return (
        (end.size_bytes - start.size_bytes) / MB / seconds,
        (end.count - start.count) / seconds,
    )


def _measured(start: Received, end: Received) -> str:
    elapsed_ms = end.time_ms - start.time_ms
    joining_ms = end.joining_ms - start.joining_ms
    fetching_ms = elapsed_ms - joining_ms
    megabytes, records = _rates(start, end, elapsed_ms)
    fetched_megabytes, fetched_records = _rates(start, end, fetching_ms)
    return (
        f"{end.size_bytes / MB:.4f}, {megabytes:.4f}, {end.count}, {records:.4f}, "
        f"{joining_ms}, {fetching_ms}, {fetched_megabytes:.4f}, {fetched_records:.4f}"
    )


def received_line(start: Received, end: Received, date: Callable[[int], str]) -> str:
    """The whole run."""
    return f"{date(start.time_ms)}, {date(end.time_ms)}, {_measured(start, end)}"


def interval_line(start: Received, end: Received, date: Callable[[int], str]) -> str:
    """One interval; there is only one thread, number 0."""
    return f"{date(end.time_ms)}, 0, {_measured(start, end)}"


def latency_lines(latencies_ns: Sequence[int]) -> list[str]:
    """The end of a run of single records."""
    ordered = sorted(latencies_ns)
    p50, p99, p999 = (ordered[int(len(ordered) * part)] // 10**6 for part in (0.5, 0.99, 0.999))
    return [
        f"Avg latency: {sum(ordered) / len(ordered) / 10**6:.4f} ms",
        f"Percentiles: 50th = {p50}, 99th = {p99}, 99.9th = {p999}",
    ]


def metrics_lines(role: str, client_id: str, statistics: Mapping[str, object]) -> list[str]:
    """Whatever the client library counted, one number a line."""
    rows = [
        (f"{role}-metrics:{name}:{{client-id={client_id}}}", value)
        for name, value in sorted(_numbers("", statistics))
    ]
    width = max((len(name) for name, _ in rows), default=0)
    return [
        "",
        f"{'Metric Name':<{width}}   Value",
        *(f"{name:<{width}} : {_number(value)}" for name, value in rows),
    ]


def _numbers(prefix: str, values: Mapping[str, object]) -> Iterator[tuple[str, int | float]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _numbers(f"{prefix}{name}.", value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield f"{prefix}{name}", value


def _number(value: float) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)
