"""What an assignor is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple, TypeAlias

from barnabas.coordinator.group.records import Partitions

Assignment: TypeAlias = dict[str, Partitions]
"""Partitions by member and topic; a member that gets nothing may be missing."""


class MemberSpec(NamedTuple):
    """One member.  `order` is what members are sorted by: the instance id, if there is one."""

    member_id: str
    order: str
    topics: frozenset[bytes]
    """The topics it reads, all of them in `Spec.partitions`."""
    target: Partitions
    """What it was to have so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """A group.  Assignors are functions of this: equal specs give equal assignments."""

    members: tuple[MemberSpec, ...]
    partitions: Mapping[bytes, int]
    """How many each topic has."""

    def sorted_members(self) -> list[MemberSpec]:
        return sorted(self.members, key=attrgetter("order", "member_id"))
