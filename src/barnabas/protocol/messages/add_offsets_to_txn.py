"""AddOffsetsToTxn, API 25: request and response."""

from barnabas.protocol.message import Message
from barnabas.protocol.types import Int16, Int32, Int64, String


class AddOffsetsToTxnRequest(Message, api_key=25, versions="0-4", flexible="3+"):
    """Announces that a transaction will also commit positions of a group.

    v3: flexible.  v4: TRANSACTION_ABORTABLE (KIP-890).
    """

    transactional_id: String = ""
    producer_id: Int64 = 0
    producer_epoch: Int16 = 0
    group_id: String = ""


class AddOffsetsToTxnResponse(Message, api_key=25, versions="0-4", flexible="3+"):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
