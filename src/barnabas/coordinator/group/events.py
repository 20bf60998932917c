"""What a group shard decides on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from barnabas.coordinator.group.refusals import refuse, refuse_fetch

if TYPE_CHECKING:
    from barnabas.base.errors import ApiError
    from barnabas.protocol.messages.offset_fetch import (
        OffsetFetchRequestGroup,
        OffsetFetchResponseGroup,
    )


class Call(NamedTuple):
    """A request with who sent it.  Requests for several groups name only those of the shard."""

    request: Any
    """A request of one of the group APIs: `requests.py` has the table of them."""
    version: int
    client_id: str = ""
    client_host: str = ""

    def refuse(self, error: ApiError) -> Any:
        return refuse(self.request, error, self.version)


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchOffsets:
    """One group's part of an OffsetFetch."""

    group: OffsetFetchRequestGroup
    require_stable: bool = False

    def refuse(self, error: ApiError) -> OffsetFetchResponseGroup:
        return refuse_fetch(self.group.group_id, error)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicsChanged:
    """Topics were created, grew or went.  The shard's view of the topics is already the new one."""

    changed: frozenset[str] = frozenset()
    deleted: frozenset[str] = frozenset()

    def refuse(self, error: ApiError) -> ApiError:
        return error
