"""A promise that was not kept is told with the records that show it."""

from __future__ import annotations

import pytest

from barnabas.lab.testing.delivery import DeliveryAssertion, delivery
from barnabas.lab.testing.recorder import Recorder
from barnabas.lab.verdict.judging import Delivery
from barnabas.lab.verdict.records import StoredRecord

STORED = [StoredRecord("t", 0, f"order-{number}", "v", number) for number in range(4)]


def told(*offsets: int) -> DeliveryAssertion:
    """The records at these offsets were processed, of four that were sent."""
    recorder = Recorder()
    for offset in offsets:
        recorder.processed(_Processed(offset))
    return DeliveryAssertion(recorder, read)


def read(topic: str, *, committed_only: bool) -> list[StoredRecord]:
    return STORED if topic == "t" else []


class _Processed:
    topic, partition, value = "t", 0, b"v"

    def __init__(self, offset: int) -> None:
        self.offset = offset
        self.key = f"order-{offset}".encode()


def test_all_once_keeps_every_promise() -> None:
    for promise in Delivery:
        assert told(0, 1, 2, 3)(promise).is_clean


def test_a_lost_record_is_named() -> None:
    assert_delivery = told(0, 2, 3)

    assert_delivery("at_most_once")
    with pytest.raises(AssertionError) as failure:
        assert_delivery("at_least_once")

    assert str(failure.value).splitlines() == [
        "not at least once: 1 lost, 0 duplicated",
        "  t-0 offset 1 key order-1 (poll skip)  v",
        "(4 sent, 4 acknowledged; 3 processed)",
    ]


def test_a_record_that_came_twice_is_named() -> None:
    assert_delivery = told(0, 1, 2, 2, 3)

    assert_delivery("at_least_once")
    with pytest.raises(AssertionError, match="order-2"):
        assert_delivery("exactly_once")


def test_nothing_processed_is_all_lost_if_the_topic_is_named() -> None:
    with pytest.raises(AssertionError, match="4 lost"):
        told()("at_least_once", "t")


def test_of_nothing_no_promise_is_kept_nor_broken() -> None:
    for promise in Delivery:
        with pytest.raises(ValueError, match="nothing to judge"):
            told()(promise)
        with pytest.raises(ValueError, match="empty-topic is empty; nothing to judge"):
            told()(promise, "empty-topic")


def test_nobody_has_to_process_what_is_not_committed() -> None:
    recorder = Recorder()
    recorder.processed(_Processed(2))

    def only_two(topic: str, *, committed_only: bool) -> list[StoredRecord]:
        return STORED[2:3] if committed_only else STORED

    assert_delivery = DeliveryAssertion(recorder, only_two)

    assert assert_delivery("exactly_once").is_clean
    recorder.processed(_Processed(1))
    assert assert_delivery("exactly_once").is_clean
    recorder.processed(_Processed(1))
    with pytest.raises(AssertionError, match="order-1"):
        assert_delivery("exactly_once")


def test_a_promise_has_a_known_name() -> None:
    assert delivery("exactly_once") is Delivery.EXACTLY_ONCE
    assert delivery("at least once") is Delivery.AT_LEAST_ONCE
    with pytest.raises(ValueError, match="at_least_once, at_most_once, exactly_once"):
        delivery("twice")
