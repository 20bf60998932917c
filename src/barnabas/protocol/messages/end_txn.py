"""EndTxn, API 26: request and response."""

from typing import Annotated

from barnabas.protocol.message import Message
from barnabas.protocol.types import Bool, Int16, Int32, Int64, String, ignorable, since


class EndTxnRequest(Message, api_key=26, versions="0-5", flexible="3+"):
    """Commits or aborts a transaction.

    v3: flexible.  v4: TRANSACTION_ABORTABLE (KIP-890).  v5: the answer brings the epoch of the
    next transaction (KIP-890).
    """

    transactional_id: String = ""
    producer_id: Int64 = 0
    producer_epoch: Int16 = 0
    committed: Bool = False


class EndTxnResponse(Message, api_key=26, versions="0-5", flexible="3+"):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    producer_id: Annotated[Int64, since(5), ignorable] = -1
    producer_epoch: Annotated[Int16, since(5), ignorable] = -1
