"""RemoveRaftVoter, API 81: request and response."""

from barnabas.protocol.message import Message
from barnabas.protocol.types import NO_UUID, Int16, Int32, NullableString, Uuid


class RemoveRaftVoterRequest(Message, api_key=81, versions="0", flexible="0+"):
    """Removes a voter from the metadata quorum (KIP-853)."""

    cluster_id: NullableString = ""
    voter_id: Int32 = 0
    voter_directory_id: Uuid = NO_UUID


class RemoveRaftVoterResponse(Message, api_key=81, versions="0", flexible="0+"):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = ""
