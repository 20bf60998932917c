from __future__ import annotations

from collections import Counter

from barnabas.cli.perf_rows import (
    Received,
    SendStats,
    interval_line,
    latency_lines,
    metrics_lines,
    percentiles,
    received_line,
)


def test_percentiles_are_latencies_that_most_stay_below() -> None:
    latencies = Counter(dict.fromkeys(range(100), 1))

    assert percentiles(latencies, (0.0, 0.5, 0.99, 0.999)) == [0, 50, 99, 99]
    assert percentiles(Counter({3: 1000}), (0.5, 0.999)) == [3, 3]
    assert percentiles(Counter(), (0.5, 0.9)) == [0, 0]


def test_a_run_of_a_producer_ends_with_kafkas_line() -> None:
    stats = SendStats(started_ms=1_000, interval_ms=5_000)
    stats.add([1.5, 2.5], size_bytes=1024 * 1024)
    stats.add([], size_bytes=0)

    assert stats.total_line(3_000) == (
        "2 records sent, 1.000000 records/sec (0.50 MB/sec), 2.00 ms avg latency, 2.50 ms max "
        "latency, 2 ms 50th, 2 ms 95th, 2 ms 99th, 2 ms 99.9th."
    )


def test_a_line_is_due_when_an_interval_is_over() -> None:
    stats = SendStats(started_ms=0, interval_ms=5_000)
    assert stats.due_line(6_000) is None, "nothing was sent"
    stats.add([10.0] * 50, size_bytes=5 * 1024 * 1024)

    assert stats.due_line(4_999) is None
    assert stats.due_line(5_000) == (
        "50 records sent, 10.0 records/sec (1.00 MB/sec), 10.0 ms avg latency, 10.0 ms max latency."
    )
    stats.add([20.0], size_bytes=1)
    assert (stats.due_line(9_000), stats.window.count, stats.total.count) == (None, 1, 51)


def test_a_quiet_run_says_nothing_meanwhile() -> None:
    stats = SendStats(started_ms=0, interval_ms=10, is_quiet=True)
    stats.add([1.0], size_bytes=1)

    assert stats.due_line(100) is None
    assert stats.window.count == 0


def test_the_steady_state_has_a_name() -> None:
    stats = SendStats(started_ms=0, interval_ms=10, label=" steady state")
    stats.add([1.0], size_bytes=1)

    assert stats.total_line(1).startswith("1 steady state records sent, 1000.000000 records/sec")


START = Received(time_ms=0)


def test_a_run_of_a_consumer_is_one_row() -> None:
    end = Received(time_ms=2_000, count=1_000, size_bytes=1024 * 1024, joining_ms=1_000)

    assert received_line(START, end, str) == (
        "0, 2000, 1.0000, 0.5000, 1000, 500.0000, 1000, 1000, 1.0000, 1000.0000"
    )


def test_an_interval_counts_what_came_in_it() -> None:
    middle = Received(time_ms=1_000, count=600, size_bytes=1024 * 1024, joining_ms=1_000)
    end = Received(time_ms=2_000, count=1_000, size_bytes=3 * 1024 * 1024, joining_ms=1_000)

    assert interval_line(START, middle, str) == (
        "1000, 0, 1.0000, 1.0000, 600, 600.0000, 1000, 0, 0.0000, 0.0000"
    )
    assert interval_line(middle, end, str) == (
        "2000, 0, 3.0000, 2.0000, 1000, 400.0000, 0, 1000, 2.0000, 400.0000"
    )


def test_latencies_end_with_an_average_and_percentiles() -> None:
    assert latency_lines([10**6, 3 * 10**6]) == [
        "Avg latency: 2.0000 ms",
        "Percentiles: 50th = 3, 99th = 3, 99.9th = 3",
    ]


def test_numbers_of_the_library_are_printed_one_a_line() -> None:
    counted = {"txmsgs": 5, "name": "x", "on": True, "brokers": {"b:1": {"rtt": {"avg": 1.5}}}}

    blank, heading, latency, sent = metrics_lines("producer", "me", counted)

    assert blank == ""
    assert heading.split("   ")[0].strip() == "Metric Name"
    assert heading.endswith("   Value")
    assert latency == "producer-metrics:brokers.b:1.rtt.avg:{client-id=me} : 1.500"
    assert sent.split(" : ") == [f"{'producer-metrics:txmsgs:{client-id=me}':<51}", "5"]
