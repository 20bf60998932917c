"""UpdateRaftVoter, API 82: request and response."""

from typing import Annotated

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import (
    NO_UUID,
    Int16,
    Int32,
    NullableString,
    String,
    Uint16,
    Uuid,
    fresh,
    tag,
)


class Listener(Struct):
    name: String = ""
    host: String = ""
    port: Uint16 = 0


class KRaftVersionFeature(Struct):
    min_supported_version: Int16 = 0
    max_supported_version: Int16 = 0


class UpdateRaftVoterRequest(Message, api_key=82, versions="0", flexible="0+"):
    """A voter of the metadata quorum changes its endpoints (KIP-853)."""

    cluster_id: NullableString = ""
    current_leader_epoch: Int32 = 0
    voter_id: Int32 = 0
    voter_directory_id: Uuid = NO_UUID
    listeners: list[Listener] = []
    k_raft_version_feature: KRaftVersionFeature = fresh(KRaftVersionFeature)


class CurrentLeader(Struct):
    leader_id: Int32 = -1
    leader_epoch: Int32 = -1
    host: String = ""
    port: Int32 = 0


class UpdateRaftVoterResponse(Message, api_key=82, versions="0", flexible="0+"):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    current_leader: Annotated[CurrentLeader, tag(0)] = fresh(CurrentLeader)
