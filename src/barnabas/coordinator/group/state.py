"""Everything one group shard knows: durable state, soft state, and what it is told from outside."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from barnabas.coordinator.group.classic.group import ClassicGroup
from barnabas.coordinator.group.config import GroupConfig, GroupSettings
from barnabas.coordinator.group.consumer.group import ConsumerGroup
from barnabas.coordinator.group.offset_store import OffsetStore
from barnabas.coordinator.runtime_timers import Deadlines

if TYPE_CHECKING:
    from barnabas.coordinator.group.topics import Topics

Group: TypeAlias = ClassicGroup | ConsumerGroup
TimerKey: TypeAlias = tuple[str, str, str]
"""Kind, group, and member or nothing."""

SESSION = "session"
"""A member was silent for too long."""
JOIN = "join"
"""Classic: members that have not joined the rebalance are left behind."""
INITIAL = "initial"
"""Classic: the first rebalance of an empty group waits no longer."""
SYNC = "sync"
"""Classic: members that have not asked for their assignment are left behind."""
REVOKE = "revoke"
"""Consumer: a member has not given up its partitions in time."""
MEMBER_JOIN = "member-join"
"""A classic member of a consumer group has not joined again in time."""
MEMBER_SYNC = "member-sync"
"""A classic member of a consumer group has not asked for its assignment in time."""
ASSIGN = "assign"
"""Consumer: the next assignment may be made."""
CONVERTED = "converted"
"""A group was loaded, or has just become a classic one.  Instead of a member: what to do."""
REBALANCE = "rebalance"
"""Its members must join."""
UNTOLD = "untold"
"""Its members must join, and know the generation before the one that is written."""
EXPIRE = "expire"
"""Old offsets are looked for."""


class GroupState:
    """The groups of one shard.  Loop thread only, like the shard."""

    def __init__(
        self,
        *,
        config: GroupConfig,
        topics: Topics,
        new_id: Callable[[], str],
        settings_of: Callable[[str], GroupSettings] | None = None,
    ) -> None:
        self.config = config
        self.topics = topics
        self.new_id = new_id
        """Gives a text that no other member of any group has."""
        self.offsets = OffsetStore()
        self.groups: dict[str, Group] = {}
        self.timers: Deadlines[TimerKey] = Deadlines()
        defaults = GroupSettings.defaults(config)
        self.settings_of = settings_of or (lambda _: defaults)

    def classic(self, group_id: str) -> ClassicGroup | None:
        group = self.groups.get(group_id)
        return group if isinstance(group, ClassicGroup) else None

    def consumer(self, group_id: str) -> ConsumerGroup | None:
        group = self.groups.get(group_id)
        return group if isinstance(group, ConsumerGroup) else None

    def touch(self, group_id: str, member_id: str, timeout_ms: int, now_ms: int) -> None:
        """The member was heard of."""
        self.timers.set((SESSION, group_id, member_id), now_ms + timeout_ms)

    def cancel_member(self, group_id: str, member_id: str) -> None:
        """The member has gone: so have its timers."""
        for kind in (SESSION, REVOKE, MEMBER_JOIN, MEMBER_SYNC):
            self.timers.cancel((kind, group_id, member_id))
