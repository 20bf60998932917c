"""A `WiredBroker` that coordinates groups."""

from __future__ import annotations

from pathlib import Path

from wired_broker import WiredBroker

from barnabas.broker.groups import OFFSETS_TOPIC, Groups
from barnabas.coordinator.group.shard import GroupShard


class WiredGroups(WiredBroker):
    """A broker with a topic, and the coordinator of all groups."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, offset_metadata_max_bytes="10")
        self.topic("t", 3)
        self.topic(OFFSETS_TOPIC, 2, cleanup_policy="compact")
        self.groups = self.broker.groups = self.coordinator()

    def coordinator(self) -> Groups:
        """One that has read the logs."""
        groups = Groups(self.broker, self.loop, schedule_turn=self.turn.schedule)  # type: ignore[arg-type]
        groups.load_all()
        self.run_turn()
        return groups

    def offsets(self, groups: Groups | None = None) -> list[object]:
        """Everything that the coordinator knows of."""
        runtime = (groups or self.groups).runtime
        shards = [runtime.shard(index) for index in range(2)]
        return [shard.dump() for shard in shards if isinstance(shard, GroupShard)]
