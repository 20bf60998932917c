"""The brokers that a test runs against, by name.  CONFORMANCE_TARGETS names fewer of them."""

from __future__ import annotations

import os

from harness.apache import ApacheBroker
from harness.barnabas import BarnabasBroker
from harness.brokers import Broker

KINDS: dict[str, type[Broker]] = {"apache": ApacheBroker, "barnabas": BarnabasBroker}
TARGETS = os.environ.get("CONFORMANCE_TARGETS", "apache,barnabas").split(",")
