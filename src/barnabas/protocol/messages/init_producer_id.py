"""InitProducerId, API 22: request and response."""

from typing import Annotated

from barnabas.protocol.message import Message
from barnabas.protocol.types import Int16, Int32, Int64, NullableString, since


class InitProducerIdRequest(Message, api_key=22, versions="0-5", flexible="2+"):
    """A producer asks for its id and epoch, and with a transactional id fences its predecessors.

    v2: flexible.  v3: an existing id and epoch, to go on after an error (KIP-360).  v4:
    PRODUCER_FENCED is told apart from an invalid epoch (KIP-588).  v5: TRANSACTION_ABORTABLE
    (KIP-890).
    """

    transactional_id: NullableString = ""
    transaction_timeout_ms: Int32 = 0
    producer_id: Annotated[Int64, since(3)] = -1
    producer_epoch: Annotated[Int16, since(3)] = -1


class InitProducerIdResponse(Message, api_key=22, versions="0-5", flexible="2+"):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    producer_id: Int64 = -1
    producer_epoch: Int16 = 0
