"""The broker as one test sees it: shared with others, under names of its own."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.lab.cluster.base import Cluster
    from barnabas.lab.faults.faults import Faults
    from barnabas.lab.verdict.records import StoredRecord


class Kafka:
    """`bootstrap` is for any client library.  Topics are gone after the test."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._topics: list[str] = []

    @property
    def bootstrap(self) -> str:
        """`host:port`, for `bootstrap.servers` and its likes."""
        return self.cluster.bootstrap

    @property
    def faults(self) -> Faults:
        return self.cluster.faults

    def topic(
        self,
        name: str = "topic",
        partitions: int = 1,
        *,
        replication: int | None = None,
        configs: Mapping[str, str] | None = None,
    ) -> str:
        """Make a topic that no other test has; its whole name begins with `name`."""
        whole = _own(name)
        self.cluster.create_topic(whole, partitions, replication, configs)
        self._topics.append(whole)
        return whole

    def group(self, name: str = "group") -> str:
        """A group id that no other test has."""
        return _own(name)

    def records(self, topic: str) -> list[StoredRecord]:
        """All that a topic holds, by partition and offset."""
        from barnabas.lab.programs.reading import read_topic

        return read_topic({"bootstrap.servers": self.bootstrap}, topic)

    def close(self) -> None:
        """Others use this broker after the test: it is whole again and runs, whatever was done to
        it, and the topics of this test are gone.
        """
        with ExitStack() as stack:
            stack.callback(self._delete_topics)
            for broker in self.cluster.brokers.values():
                stack.callback(broker.revive)
            stack.callback(self.faults.lift_all)

    def _delete_topics(self) -> None:
        if self._topics:
            self.cluster.eyes.delete_topics(self._topics)


def _own(name: str) -> str:
    return f"{name}-{uuid.uuid4().hex[:8]}"
