from __future__ import annotations

from typing import Any

import pytest
from small_broker import HandClock

from barnabas.base.settings import BrokerConfig
from barnabas.broker.quotas.clients import REMEMBERED, ClientQuotas, Limits
from barnabas.controller.image import QuotaEntity


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def quotas(clock: HandClock) -> ClientQuotas:
    config = BrokerConfig.from_properties({"node.id": "1", "quota.window.num": "3"})
    return ClientQuotas(config, clock.monotonic)


def limits(quotas: ClientQuotas, client_id: str | None, user: str = "ANONYMOUS") -> Limits:
    found = quotas.of(user, client_id)
    assert found is not None
    return found


def test_without_quotas_nobody_has_limits(quotas: ClientQuotas) -> None:
    assert not quotas.is_active
    assert quotas.of("ANONYMOUS", "app") is None
    assert quotas.connection_pause("10.0.0.1") == 0.0


def test_only_those_have_limits_whom_a_quota_fits(quotas: ClientQuotas) -> None:
    quotas.apply({(("client-id", "app"),): {"producer_byte_rate": 10.0}})

    found: Any = limits(quotas, "app")
    assert found.produce.capacity == 20.0
    assert (found.fetch, found.requests, found.mutations) == (None, None, None)
    assert quotas.of("ANONYMOUS", "other") is None
    assert quotas.of("ANONYMOUS", None) is None


def test_a_client_without_a_name_has_the_default_limit(quotas: ClientQuotas) -> None:
    quotas.apply({(("client-id", None),): {"request_percentage": 10.0}})

    assert limits(quotas, None).requests is limits(quotas, "").requests


def test_the_clients_of_a_user_share_its_quota_and_clients_of_a_default_do_not(
    quotas: ClientQuotas,
) -> None:
    quotas.apply(
        {
            (("user", "alice"),): {"producer_byte_rate": 10.0},
            (("client-id", None),): {"consumer_byte_rate": 10.0},
        }
    )

    one, two = limits(quotas, "one", "alice"), limits(quotas, "two", "alice")
    assert one.produce is two.produce
    assert one.fetch is not two.fetch


def test_mutations_have_windows_of_their_own(quotas: ClientQuotas) -> None:
    quotas.apply({(("user", None),): {"controller_mutation_rate": 2.0}})

    found: Any = limits(quotas, "app")
    assert found.mutations.capacity == 22.0


def test_a_change_counts_at_once_and_so_does_what_was_used(
    quotas: ClientQuotas, clock: HandClock
) -> None:
    quotas.apply({(("client-id", "app"),): {"producer_byte_rate": 10.0}})
    found: Any = limits(quotas, "app")
    found.produce.spend(1020, clock.mono)
    assert found.produce.pause(clock.mono) == pytest.approx(100.0)

    quotas.apply({(("client-id", "app"),): {"producer_byte_rate": 100.0}})

    found = limits(quotas, "app")
    assert found.produce.pause(clock.mono) == pytest.approx(8.2)
    quotas.apply({})
    assert quotas.of("ANONYMOUS", "app") is None


@pytest.mark.parametrize(
    "entity",
    [
        (("client-id", "app"),),
        (("client-id", None),),
        (("user", "ANONYMOUS"),),
        (("user", None),),
        (("client-id", "app"), ("user", None)),
        (("client-id", None), ("user", "ANONYMOUS")),
    ],
)
def test_a_quota_that_was_away_starts_anew_and_one_that_stayed_does_not(
    quotas: ClientQuotas, clock: HandClock, entity: QuotaEntity
) -> None:
    quotas.apply({entity: {"producer_byte_rate": 10.0}})
    found: Any = limits(quotas, "app")
    found.produce.spend(1020, clock.mono)
    quotas.apply({entity: {"producer_byte_rate": 10.0}, (("user", "x"),): {"k": 1.0}})
    found = limits(quotas, "app")
    assert found.produce.pause(clock.mono) == pytest.approx(100.0)

    quotas.apply({})
    quotas.apply({entity: {"producer_byte_rate": 10.0}})

    found = limits(quotas, "app")
    assert found.produce.pause(clock.mono) == 0.0


def test_addresses_have_their_own_rate_or_the_default(
    quotas: ClientQuotas, clock: HandClock
) -> None:
    quotas.apply(
        {
            (("ip", "0:0:0:0:0:0:0:1"),): {"connection_creation_rate": 1.0},
            (("ip", None),): {"connection_creation_rate": 2.0},
        }
    )
    assert not quotas.is_active

    pauses = [quotas.connection_pause("::1") for _ in range(3)]
    assert pauses == [0.0, 0.0, pytest.approx(1.0)]
    assert [quotas.connection_pause("10.0.0.1") for _ in range(5)][3:] == [
        0.0,
        pytest.approx(0.5),
    ]
    clock.mono += 1.0
    assert quotas.connection_pause("::1") == 0.0


def test_the_name_of_a_host_in_a_journal_of_apache_kafka_harms_nobody(
    quotas: ClientQuotas, caplog: pytest.LogCaptureFixture
) -> None:
    quotas.apply({(("ip", "some.host"),): {"connection_creation_rate": 1.0}})

    assert [quotas.connection_pause("10.0.0.1") for _ in range(5)] == [0.0] * 5
    assert "some.host" in caplog.text


def test_clients_that_use_nothing_are_forgotten_and_debtors_are_not(
    quotas: ClientQuotas, clock: HandClock
) -> None:
    quotas.apply({(("client-id", None),): {"producer_byte_rate": 1.0}})
    debtor: Any = limits(quotas, "debtor")
    debtor.produce.spend(1000, clock.mono)

    for number in range(3 * REMEMBERED):
        limits(quotas, f"client-{number}")

    assert len(quotas._buckets) <= REMEMBERED
    again: Any = limits(quotas, "debtor")
    assert again.produce.pause(clock.mono) > 900
