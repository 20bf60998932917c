"""Making the logs of partitions: as many as one loop turn bears, the others in turns of their own.

Loop thread only.
"""

from __future__ import annotations

import logging
from collections import deque
from typing import TYPE_CHECKING

from barnabas.base.errors import StorageFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from barnabas.replication.partition import Partition
    from barnabas.storage.config import LogConfig
    from barnabas.storage.manager import LogManager

logger = logging.getLogger("barnabas.replicas")

AT_ONCE = 64
"""A log takes a third of a millisecond, on a slow disk more: thousands in one turn would keep
clients waiting, and the controller, which would take this broker for dead."""


class Opening:
    """The logs of one broker's partitions."""

    def __init__(self, logs: LogManager, topic_config: Callable[[str], LogConfig]) -> None:
        self.is_whole = True
        """No log directory is broken, so that a partition without a log is a new one."""
        self._logs = logs
        self._topic_config = topic_config
        self._unopened: deque[Partition] = deque()
        self._left = 0

    def __bool__(self) -> bool:
        """Whether there is something left to open."""
        return bool(self._unopened)

    def begin(self) -> None:
        """A change of metadata comes, or a turn to go on with the last one."""
        self._left = AT_ONCE

    def soon(self, partition: Partition) -> None:
        """Open its log now, or when it is its turn."""
        if self._left > 0:
            self.now(partition)
        else:
            self._unopened.append(partition)

    def take(self) -> Partition | None:
        """The next one that is to be opened in this turn."""
        return self._unopened.popleft() if self._unopened and self._left > 0 else None

    def now(self, partition: Partition) -> None:
        """If the disk refuses, the partition has no log and its `error` says why."""
        self._left -= 1
        topic, index = partition.topic, partition.index
        config = self._topic_config(topic)
        partition.configure(config)
        try:
            if not self.is_whole and self._logs.get(topic, index) is None:
                raise StorageFailed("its log is not in the log directories that can be used")
            partition.log = self._logs.open(topic, index, partition.topic_id, config)
            partition.error = None
        except StorageFailed as error:
            logger.warning("%s-%d is offline: %s", topic, index, error)
            partition.error = error
