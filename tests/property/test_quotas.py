"""Whoever waits as told gets its rate, and no more, whatever it sends and however often."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.quotas.bucket import Bucket

RATES = st.floats(0.5, 1e9)
SPANS = st.floats(0.1, 100)
REQUESTS = st.lists(st.tuples(st.floats(0, 5), st.floats(0.0, 20)), min_size=1, max_size=200)
"""Seconds of idleness before it, and its size in seconds' worth of the rate."""
SLACK = 1.000001
"""Floats are not exact."""


@given(rate=RATES, span_s=SPANS, requests=REQUESTS)
def test_who_is_charged_first_and_waits_then_gets_its_rate_a_burst_and_one_request(
    rate: float, span_s: float, requests: list[tuple[float, float]]
) -> None:
    """As a producer: what came is taken, and the next is not read before the pause is over."""
    bucket, now, used = Bucket(rate, span_s, 0.0), 0.0, 0.0
    for idle_s, size_s in requests:
        now += idle_s
        bucket.spend(size_s * rate, now)
        used += size_s * rate
        assert used <= (rate * (now + span_s) + size_s * rate) * SLACK
        now += bucket.pause(now)


@given(rate=RATES, span_s=SPANS, requests=REQUESTS)
def test_who_is_asked_first_gets_its_rate_a_burst_and_one_request(
    rate: float, span_s: float, requests: list[tuple[float, float]]
) -> None:
    """As a consumer: it gets nothing while it would be too much, and always gets on."""
    bucket, now, used = Bucket(rate, span_s, 0.0), 0.0, 0.0
    for idle_s, size_s in requests:
        now += idle_s
        size = size_s * rate
        tries = 0
        while pause_s := bucket.pause_before(size, now):
            now += pause_s + 1e-6
            tries += 1
            assert tries <= 3, "it waited as it was told, in vain"
        bucket.spend(size, now)
        used += size
        assert used <= (rate * (now + span_s) + size) * SLACK


@given(rate=RATES, span_s=SPANS, sizes=st.lists(st.floats(0.01, 5), min_size=20, max_size=100))
def test_who_always_has_something_to_send_gets_all_of_its_rate(
    rate: float, span_s: float, sizes: list[float]
) -> None:
    bucket, now, used = Bucket(rate, span_s, 0.0), 0.0, 0.0
    for size_s in sizes:
        bucket.spend(size_s * rate, now)
        used += size_s * rate
        now += bucket.pause(now)
    assert used * SLACK >= rate * now


@given(
    rate=RATES,
    span_s=SPANS,
    clients=st.lists(st.lists(st.floats(0.01, 5), max_size=20), min_size=2, max_size=5),
)
def test_connections_that_share_a_quota_get_no_more_together_than_one_request_each(
    rate: float, span_s: float, clients: list[list[float]]
) -> None:
    bucket, used, largest = Bucket(rate, span_s, 0.0), 0.0, 5 * rate * len(clients)
    free_at = [0.0] * len(clients)
    waiting = [list(sizes) for sizes in clients]
    while any(waiting):
        who = min((n for n, sizes in enumerate(waiting) if sizes), key=lambda n: free_at[n])
        now = free_at[who]
        size = waiting[who].pop() * rate
        bucket.spend(size, now)
        used += size
        free_at[who] = now + bucket.pause(now)
        assert used <= (rate * (now + span_s) + largest) * SLACK


@given(
    changes=st.lists(
        st.tuples(st.floats(0.5, 1e6), st.floats(0, 5), st.floats(0, 10)), min_size=1, max_size=50
    )
)
def test_a_rate_that_changes_is_never_better_than_the_best_of_them(
    changes: list[tuple[float, float, float]],
) -> None:
    """Seconds of idleness and a size, in seconds' worth of the best rate, at each of the rates."""
    best = max(rate for rate, _, _ in changes)
    bucket, now, used = Bucket(changes[0][0], 1.0, 0.0), 0.0, 0.0
    for rate, idle_s, size_s in changes:
        now += idle_s
        bucket.set_rate(rate, now)
        now += bucket.pause(now)
        bucket.spend(size_s * best, now)
        used += size_s * best
        assert used <= best * (now + 1.0 + size_s) * SLACK
        now += bucket.pause(now)
