"""AddRaftVoter, API 80: request and response."""

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import NO_UUID, Int16, Int32, NullableString, String, Uint16, Uuid


class Listener(Struct):
    name: String = ""
    host: String = ""
    port: Uint16 = 0


class AddRaftVoterRequest(Message, api_key=80, versions="0", flexible="0+"):
    """Adds a voter to the metadata quorum (KIP-853)."""

    cluster_id: NullableString = ""
    timeout_ms: Int32 = 0
    voter_id: Int32 = 0
    voter_directory_id: Uuid = NO_UUID
    listeners: list[Listener] = []


class AddRaftVoterResponse(Message, api_key=80, versions="0", flexible="0+"):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = ""
