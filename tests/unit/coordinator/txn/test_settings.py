"""Where the coordinator's settings come from."""

from __future__ import annotations

from barnabas.base.settings import BrokerConfig
from barnabas.coordinator.txn.settings import TransactionSettings


def test_the_defaults_are_those_of_the_broker() -> None:
    config = BrokerConfig.from_properties({})
    assert TransactionSettings.of(config, transaction_version=2) == TransactionSettings()


def test_each_setting_is_heeded() -> None:
    config = BrokerConfig.from_properties(
        {
            "transaction.max.timeout.ms": "1",
            "transactional.id.expiration.ms": "2",
            "transaction.abort.timed.out.transaction.cleanup.interval.ms": "3",
            "transaction.remove.expired.transaction.cleanup.interval.ms": "4",
        }
    )
    assert TransactionSettings.of(config, transaction_version=1) == TransactionSettings(
        max_timeout_ms=1,
        id_expiration_ms=2,
        abort_interval_ms=3,
        expiry_interval_ms=4,
        transaction_version=1,
    )
