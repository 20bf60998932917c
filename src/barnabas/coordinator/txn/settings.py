"""What the decisions of a transaction coordinator depend on besides its state and the time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from barnabas.base.settings import BrokerConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionSettings:
    """Replaced as a whole when the cluster agrees on another level of `transaction.version`."""

    max_timeout_ms: int = 900_000
    id_expiration_ms: int = 604_800_000
    abort_interval_ms: int = 10_000
    """Transactions that took too long are looked for no more often than that."""
    expiry_interval_ms: int = 3_600_000
    """And unused transactional ids no more often than that."""
    transaction_version: int = 2
    """The finalized level of the feature `transaction.version`."""

    @classmethod
    def of(cls, config: BrokerConfig, *, transaction_version: int) -> TransactionSettings:
        return cls(
            max_timeout_ms=config.int("transaction.max.timeout.ms"),
            id_expiration_ms=config.int("transactional.id.expiration.ms"),
            abort_interval_ms=config.int(
                "transaction.abort.timed.out.transaction.cleanup.interval.ms"
            ),
            expiry_interval_ms=config.int(
                "transaction.remove.expired.transaction.cleanup.interval.ms"
            ),
            transaction_version=transaction_version,
        )


class ProducerIdSource(Protocol):
    """Port: producer ids that nobody else has in the whole cluster."""

    def take(self) -> int | None:
        """A new one; None if none is at hand.  Then the client is told to ask again soon, and more
        are fetched meanwhile."""
