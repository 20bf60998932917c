"""A cluster of groups in memory, in the place of `GroupAdmin`, for tests of the tool."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

import pytest

from barnabas.client import group_details
from barnabas.client.errors import ClientError, RefusedError
from barnabas.client.group_admin import Committed, Group, GroupAdmin, GroupListing, Member, Place
from barnabas.client.patience import Patience


def group(
    group_id: str, state: str = "Empty", members: Iterable[Member] = (), kind: str = "Classic"
) -> Group:
    return Group(
        group_id=group_id,
        state=state,
        type=kind,
        assignor="range" if state == "Stable" else "",
        coordinator=(1, "h", 9092),
        members=list(members),
    )


@dataclass(slots=True)
class FakeGroups:
    """Every partition has offsets 10 to 20, one record a second from second 0 on."""

    groups: dict[str, Group] = field(default_factory=dict)
    offsets: dict[str, dict[Place, int]] = field(default_factory=dict)
    partitions: dict[Place, int | None] = field(
        default_factory=lambda: {("t", 0): 1, ("t", 1): 1, ("u", 0): 1, ("lost", 0): None}
    )
    refused: dict[str, ClientError] = field(default_factory=dict)
    """What is in the way of describing or deleting a group."""
    commits: list[tuple[str, dict[Place, int]]] = field(default_factory=list)
    asked_ends: list[list[Place]] = field(default_factory=list)
    properties: Mapping[str, str] = field(default_factory=lambda: {"bootstrap.servers": "h:1"})
    patience: Patience = field(default_factory=lambda: Patience(seconds=5))
    forgotten: dict[Place, RefusedError | None] | RefusedError = field(default_factory=dict)

    def add(self, one: Group, offsets: Mapping[Place, int] | None = None) -> None:
        self.groups[one.group_id] = one
        self.offsets[one.group_id] = dict(offsets or {})

    def listings(self) -> list[GroupListing]:
        return [
            GroupListing(group_id=each.group_id, state=each.state, type=each.type)
            for _, each in sorted(self.groups.items())
        ]

    def describe(self, group_ids: Iterable[str]) -> dict[str, Group | ClientError]:
        return {
            group_id: self.refused.get(group_id)
            or self.groups.get(group_id, group(group_id, "Dead"))
            for group_id in group_ids
        }

    def committed(self, group_ids: Iterable[str]) -> dict[str, dict[Place, Committed]]:
        return {
            group_id: {
                place: Committed(offset=offset)
                for place, offset in self.offsets.get(group_id, {}).items()
            }
            for group_id in group_ids
        }

    def leaders(self) -> dict[Place, int | None]:
        return self.partitions

    def start_offsets(self, places: Collection[Place]) -> dict[Place, int]:
        return dict.fromkeys(places, 10)

    def end_offsets(self, places: Collection[Place]) -> dict[Place, int]:
        self.asked_ends.append(sorted(places))
        return dict.fromkeys(places, 20)

    def offsets_at(self, places: Collection[Place], time_ms: int) -> dict[Place, int | None]:
        offset = max(10, 10 + time_ms // 1000)
        return dict.fromkeys(places, offset if offset < 20 else None)

    def commit(self, group_id: str, offsets: Mapping[Place, int]) -> None:
        self.commits.append((group_id, dict(offsets)))

    def delete(self, group_ids: Iterable[str]) -> dict[str, ClientError | None]:
        return {group_id: self.refused.get(group_id) for group_id in group_ids}


def install(monkeypatch: pytest.MonkeyPatch) -> FakeGroups:
    fake = FakeGroups()

    def connect(properties: Mapping[str, str], warn: object, *, timeout_s: float) -> FakeGroups:
        fake.properties = properties
        fake.patience.seconds = timeout_s
        return fake

    def delete_offsets(
        properties: Mapping[str, str], group_id: str, places: Collection[Place], *, timeout_s: float
    ) -> dict[Place, RefusedError | None]:
        if isinstance(fake.forgotten, RefusedError):
            raise fake.forgotten
        return {place: fake.forgotten.get(place) for place in places}

    monkeypatch.setattr(GroupAdmin, "connect", connect)
    monkeypatch.setattr(group_details, "delete_offsets", delete_offsets)
    return fake
