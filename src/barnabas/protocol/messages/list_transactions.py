"""ListTransactions, API 66: request and response."""

from typing import Annotated

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import Int16, Int32, Int64, String, since


class ListTransactionsRequest(Message, api_key=66, versions="0-1", flexible="0+"):
    """Transactions that a broker coordinates (KIP-664).

    v1: those older than a duration (KIP-994).
    """

    state_filters: list[String] = []
    producer_id_filters: list[Int64] = []
    duration_filter: Annotated[Int64, since(1)] = -1


class TransactionState(Struct):
    transactional_id: String = ""
    producer_id: Int64 = 0
    transaction_state: String = ""


class ListTransactionsResponse(Message, api_key=66, versions="0-1", flexible="0+"):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    unknown_state_filters: list[String] = []
    transaction_states: list[TransactionState] = []
