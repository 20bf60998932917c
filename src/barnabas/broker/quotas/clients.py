"""The quotas of one broker's clients, and how much of them is used.  Loop thread only.

While there is no quota, nothing is looked up and nothing is measured.
"""

from __future__ import annotations

import ipaddress
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from barnabas.broker.quotas.bucket import Bucket
from barnabas.broker.quotas.precedence import Owner, Quotas, find
from barnabas.controller.decider.client_quotas import (
    CONNECTION_CREATION_RATE,
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    IP,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
)

if TYPE_CHECKING:
    from barnabas.base.settings import BrokerConfig

logger = logging.getLogger("barnabas.quotas")

ANONYMOUS = "ANONYMOUS"
"""The user who has not said who it is."""
REMEMBERED = 10_000
"""Clients that are known before those are forgotten who used nothing lately."""


class Limits:
    """What one client may use; None where there is no limit.  Some are shared with others."""

    __slots__ = ("fetch", "mutations", "produce", "request_pause_s_max", "requests")

    def __init__(self, bucket: Callable[[str], Bucket | None], request_pause_s_max: float) -> None:
        self.produce = bucket(PRODUCER_BYTE_RATE)
        self.fetch = bucket(CONSUMER_BYTE_RATE)
        self.requests = bucket(REQUEST_PERCENTAGE)
        self.mutations = bucket(CONTROLLER_MUTATION_RATE)
        self.request_pause_s_max = request_pause_s_max
        """Who takes too much time waits at most that long, as with Apache Kafka."""

    def __bool__(self) -> bool:
        return any((self.produce, self.fetch, self.requests, self.mutations))


class ClientQuotas:
    """`of` for each request, `connection_pause` for each connection."""

    def __init__(self, config: BrokerConfig, monotonic: Callable[[], float]) -> None:
        window_s = config.int("quota.window.size.seconds")
        self._span_s = float(max(1, config.int("quota.window.num") - 1) * window_s)
        self._request_pause_s_max = float(window_s)
        self._mutations_span_s = float(
            config.int("controller.quota.window.num")
            * config.int("controller.quota.window.size.seconds")
        )
        self._monotonic = monotonic
        self.is_active = False
        """Whether there is a quota of any user or client id."""
        self._quotas: Quotas = {}
        self._addresses: dict[str | None, float] = {}
        self._known: dict[tuple[str, str], Limits | None] = {}
        self._buckets: dict[tuple[str, Owner], Bucket] = {}
        self._remembered_max = REMEMBERED

    def apply(self, quotas: Quotas) -> None:
        """These count from now on.  What was used counts too, where there was a limit already."""
        addresses: dict[str | None, float] = {}
        for entity, values in quotas.items():
            (kind, name), *_ = entity
            if kind == IP and CONNECTION_CREATION_RATE in values:
                addresses[_address(name)] = values[CONNECTION_CREATION_RATE]
        self._quotas = {entity: values for entity, values in quotas.items() if entity[0][0] != IP}
        self._addresses = addresses
        self._known.clear()
        self._buckets = {
            whose: bucket for whose, bucket in self._buckets.items() if self._is_limited(*whose)
        }
        self.is_active = bool(self._quotas)

    def of(self, user: str, client_id: str | None) -> Limits | None:
        """None if this client may use what it likes."""
        if not self.is_active:
            return None
        client = (user, client_id or "")
        try:
            return self._known[client]
        except KeyError:
            self._forget_idle()
            limits = Limits(lambda key: self._find(key, *client), self._request_pause_s_max)
            found = self._known[client] = limits or None
            return found

    def connection_pause(self, address: str) -> float:
        """A connection has come from there: 0, or for how many seconds it was one too many."""
        if not self._addresses:
            return 0.0
        rate = self._addresses.get(address, self._addresses.get(None))
        if rate is None:
            return 0.0
        self._forget_idle()
        bucket = self._bucket(CONNECTION_CREATION_RATE, (None, address), rate, self._span_s)
        now = self._monotonic()
        pause = bucket.pause_before(1, now)
        if not pause:
            bucket.spend(1, now)
        return pause

    def _is_limited(self, key: str, owner: Owner) -> bool:
        user, client_id = owner
        if key == CONNECTION_CREATION_RATE:
            return client_id in self._addresses or None in self._addresses
        found = find(self._quotas, key, user or "", client_id or "")
        return found is not None and found[0] == owner

    def _find(self, key: str, user: str, client_id: str) -> Bucket | None:
        found = find(self._quotas, key, user, client_id)
        if found is None:
            return None
        span_s = self._mutations_span_s if key == CONTROLLER_MUTATION_RATE else self._span_s
        return self._bucket(key, found[0], found[1], span_s)

    def _bucket(self, key: str, owner: Owner, rate: float, span_s: float) -> Bucket:
        now = self._monotonic()
        bucket = self._buckets.get((key, owner))
        if bucket is None:
            bucket = self._buckets[key, owner] = Bucket(rate, span_s, now)
        else:
            bucket.set_rate(rate, now)
        return bucket

    def _forget_idle(self) -> None:
        """Clients name themselves as they like: what they make us remember must not only grow.

        A bucket that is full is as good as a new one.
        """
        if max(len(self._known), len(self._buckets)) < self._remembered_max:
            return
        now = self._monotonic()
        self._known.clear()
        self._buckets = {
            whose: bucket for whose, bucket in self._buckets.items() if not bucket.is_full(now)
        }
        self._remembered_max = max(REMEMBERED, 2 * len(self._buckets))


def _address(name: str | None) -> str | None:
    """As connections tell it.  A host's name, which Apache Kafka takes too, fits none of them."""
    if name is None:
        return None
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        logger.warning("the quota of the host %s is not applied: it is no address", name)
        return name
