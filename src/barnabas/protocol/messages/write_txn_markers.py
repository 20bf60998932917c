"""WriteTxnMarkers, API 27: request and response."""

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import Bool, Int16, Int32, Int64, String


class WritableTxnMarkerTopic(Struct):
    name: String = ""
    partition_indexes: list[Int32] = []


class WritableTxnMarker(Struct):
    producer_id: Int64 = 0
    producer_epoch: Int16 = 0
    transaction_result: Bool = False
    topics: list[WritableTxnMarkerTopic] = []
    coordinator_epoch: Int32 = 0


class WriteTxnMarkersRequest(Message, api_key=27, versions="0-1", flexible="1+"):
    """A transaction coordinator has commit or abort markers written to partitions.

    v1: flexible.
    """

    markers: list[WritableTxnMarker] = []


class WritableTxnMarkerPartitionResult(Struct):
    partition_index: Int32 = 0
    error_code: Int16 = 0


class WritableTxnMarkerTopicResult(Struct):
    name: String = ""
    partitions: list[WritableTxnMarkerPartitionResult] = []


class WritableTxnMarkerResult(Struct):
    producer_id: Int64 = 0
    topics: list[WritableTxnMarkerTopicResult] = []


class WriteTxnMarkersResponse(Message, api_key=27, versions="0-1", flexible="1+"):
    markers: list[WritableTxnMarkerResult] = []
