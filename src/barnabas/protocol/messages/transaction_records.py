"""Keys and values of `__transaction_state`."""

from typing import Annotated

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import Int8, Int16, Int32, Int64, String, since, tag


class TransactionLogKey(Message, versions="0", flexible="none"):
    """A transactional id."""

    transactional_id: String = ""


class PartitionsSchema(Struct):
    topic: String = ""
    partition_ids: list[Int32] = []


class TransactionLogValue(Message, versions="0-1", flexible="1+"):
    """State of a transaction.

    v1: flexible; ids of the previous and the next producer (KIP-890).
    """

    producer_id: Int64 = 0
    previous_producer_id: Annotated[Int64, since(1), tag(0)] = -1
    next_producer_id: Annotated[Int64, since(1), tag(1)] = -1
    producer_epoch: Int16 = 0
    next_producer_epoch: Annotated[Int16, since(1), tag(3)] = -1
    transaction_timeout_ms: Int32 = 0
    transaction_status: Int8 = 0
    transaction_partitions: list[PartitionsSchema] | None = []
    transaction_last_update_timestamp_ms: Int64 = 0
    transaction_start_timestamp_ms: Int64 = 0
    client_transaction_version: Annotated[Int16, since(1), tag(2)] = 0
