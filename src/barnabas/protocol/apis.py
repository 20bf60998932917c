"""The APIs: which keys there are, in which versions, on which listeners.

Importing this module imports no message; a message module is imported when its class is asked for.
"""

from enum import IntEnum
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias

from barnabas.protocol.errors import DecodeError

if TYPE_CHECKING:
    from barnabas.protocol.message import Message


class ApiKey(IntEnum):
    """The number that a request names its API by."""

    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    OFFSET_COMMIT = 8
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    JOIN_GROUP = 11
    HEARTBEAT = 12
    LEAVE_GROUP = 13
    SYNC_GROUP = 14
    DESCRIBE_GROUPS = 15
    LIST_GROUPS = 16
    SASL_HANDSHAKE = 17
    API_VERSIONS = 18
    CREATE_TOPICS = 19
    DELETE_TOPICS = 20
    DELETE_RECORDS = 21
    INIT_PRODUCER_ID = 22
    OFFSET_FOR_LEADER_EPOCH = 23
    ADD_PARTITIONS_TO_TXN = 24
    ADD_OFFSETS_TO_TXN = 25
    END_TXN = 26
    WRITE_TXN_MARKERS = 27
    TXN_OFFSET_COMMIT = 28
    DESCRIBE_ACLS = 29
    CREATE_ACLS = 30
    DELETE_ACLS = 31
    DESCRIBE_CONFIGS = 32
    ALTER_CONFIGS = 33
    ALTER_REPLICA_LOG_DIRS = 34
    DESCRIBE_LOG_DIRS = 35
    SASL_AUTHENTICATE = 36
    CREATE_PARTITIONS = 37
    CREATE_DELEGATION_TOKEN = 38
    RENEW_DELEGATION_TOKEN = 39
    EXPIRE_DELEGATION_TOKEN = 40
    DESCRIBE_DELEGATION_TOKEN = 41
    DELETE_GROUPS = 42
    ELECT_LEADERS = 43
    INCREMENTAL_ALTER_CONFIGS = 44
    ALTER_PARTITION_REASSIGNMENTS = 45
    LIST_PARTITION_REASSIGNMENTS = 46
    OFFSET_DELETE = 47
    DESCRIBE_CLIENT_QUOTAS = 48
    ALTER_CLIENT_QUOTAS = 49
    DESCRIBE_USER_SCRAM_CREDENTIALS = 50
    ALTER_USER_SCRAM_CREDENTIALS = 51
    VOTE = 52
    BEGIN_QUORUM_EPOCH = 53
    END_QUORUM_EPOCH = 54
    DESCRIBE_QUORUM = 55
    ALTER_PARTITION = 56
    UPDATE_FEATURES = 57
    ENVELOPE = 58
    FETCH_SNAPSHOT = 59
    DESCRIBE_CLUSTER = 60
    DESCRIBE_PRODUCERS = 61
    BROKER_REGISTRATION = 62
    BROKER_HEARTBEAT = 63
    UNREGISTER_BROKER = 64
    DESCRIBE_TRANSACTIONS = 65
    LIST_TRANSACTIONS = 66
    ALLOCATE_PRODUCER_IDS = 67
    CONSUMER_GROUP_HEARTBEAT = 68
    CONSUMER_GROUP_DESCRIBE = 69
    CONTROLLER_REGISTRATION = 70
    GET_TELEMETRY_SUBSCRIPTIONS = 71
    PUSH_TELEMETRY = 72
    ASSIGN_REPLICAS_TO_DIRS = 73
    LIST_CLIENT_METRICS_RESOURCES = 74
    DESCRIBE_TOPIC_PARTITIONS = 75
    SHARE_GROUP_HEARTBEAT = 76
    SHARE_GROUP_DESCRIBE = 77
    SHARE_FETCH = 78
    SHARE_ACKNOWLEDGE = 79
    ADD_RAFT_VOTER = 80
    REMOVE_RAFT_VOTER = 81
    UPDATE_RAFT_VOTER = 82
    INITIALIZE_SHARE_GROUP_STATE = 83
    READ_SHARE_GROUP_STATE = 84
    WRITE_SHARE_GROUP_STATE = 85
    DELETE_SHARE_GROUP_STATE = 86
    READ_SHARE_GROUP_STATE_SUMMARY = 87


NEVER = 0x7FFF
BROKER = frozenset({"broker"})
CONTROLLER = frozenset({"controller"})
BOTH = frozenset({"broker", "controller"})


class Api:
    """One API.  Immutable but for its classes, which are looked up once."""

    __slots__ = (
        "_request",
        "_response",
        "advertised",
        "flexible_since",
        "key",
        "listeners",
        "max_version",
        "min_version",
        "name",
        "stable",
        "versions",
    )

    def __init__(self, row: "Row") -> None:
        self.name, key, self.max_version, stable, self.flexible_since, self.listeners = row
        self.key = ApiKey(key)
        self.min_version = 0
        self.versions = range(self.max_version + 1)
        """What can be read and written."""
        self.stable = range(stable[0], stable[1] + 1)
        """What a Kafka 4.0 broker answers unless unstable versions are asked for; may be empty."""
        self.advertised = self.versions if self.key == ApiKey.PRODUCE else self.stable
        """What it tells clients that it answers.

        Produce is announced from version 0 on, though the oldest ones are refused: librdkafka takes
        them as the sign that it may compress.
        """
        self._request: type[Message] | None = None
        self._response: type[Message] | None = None

    def __repr__(self) -> str:
        return f"Api({self.name}, key={int(self.key)}, versions={self.versions})"

    @property
    def request(self) -> "type[Message]":
        if self._request is None:
            self._request = self._load("Request")
        return self._request

    @property
    def response(self) -> "type[Message]":
        if self._response is None:
            self._response = self._load("Response")
        return self._response

    def _load(self, suffix: str) -> "type[Message]":
        module = import_module(f"barnabas.protocol.messages.{self.key.name.lower()}")
        cls: type[Message] = getattr(module, self.name + suffix)
        return cls

    def request_header_version(self, version: int) -> int:
        """2 if the request is flexible: the header then ends with tagged fields."""
        return 2 if version >= self.flexible_since else 1

    def response_header_version(self, version: int) -> int:
        """1 if the response is flexible.

        ApiVersions is always answered with version 0, so that a client that asked in a version
        unknown to the broker can read the answer.
        """
        return 1 if version >= self.flexible_since and self.key != ApiKey.API_VERSIONS else 0


Row: TypeAlias = tuple[str, int, int, tuple[int, int], int, frozenset[str]]

_TABLE: tuple[Row, ...] = (
    # name, key, highest version, stable versions, first flexible version, listeners
    ("Produce", 0, 12, (3, 12), 9, BROKER),
    ("Fetch", 1, 18, (4, 17), 12, BOTH),
    ("ListOffsets", 2, 10, (1, 10), 6, BROKER),
    ("Metadata", 3, 13, (0, 13), 9, BROKER),
    ("OffsetCommit", 8, 9, (2, 9), 8, BROKER),
    ("OffsetFetch", 9, 9, (1, 9), 6, BROKER),
    ("FindCoordinator", 10, 6, (0, 6), 3, BROKER),
    ("JoinGroup", 11, 9, (0, 9), 6, BROKER),
    ("Heartbeat", 12, 4, (0, 4), 4, BROKER),
    ("LeaveGroup", 13, 5, (0, 5), 4, BROKER),
    ("SyncGroup", 14, 5, (0, 5), 4, BROKER),
    ("DescribeGroups", 15, 6, (0, 6), 5, BROKER),
    ("ListGroups", 16, 5, (0, 5), 3, BROKER),
    ("SaslHandshake", 17, 1, (0, 1), NEVER, BOTH),
    ("ApiVersions", 18, 4, (0, 4), 3, BOTH),
    ("CreateTopics", 19, 7, (2, 7), 5, BOTH),
    ("DeleteTopics", 20, 6, (1, 6), 4, BOTH),
    ("DeleteRecords", 21, 2, (0, 2), 2, BROKER),
    ("InitProducerId", 22, 5, (0, 5), 2, BROKER),
    ("OffsetForLeaderEpoch", 23, 4, (2, 4), 4, BROKER),
    ("AddPartitionsToTxn", 24, 5, (0, 5), 3, BROKER),
    ("AddOffsetsToTxn", 25, 4, (0, 4), 3, BROKER),
    ("EndTxn", 26, 5, (0, 5), 3, BROKER),
    ("WriteTxnMarkers", 27, 1, (1, 1), 1, BROKER),
    ("TxnOffsetCommit", 28, 5, (0, 5), 3, BROKER),
    ("DescribeAcls", 29, 3, (1, 3), 2, BOTH),
    ("CreateAcls", 30, 3, (1, 3), 2, BOTH),
    ("DeleteAcls", 31, 3, (1, 3), 2, BOTH),
    ("DescribeConfigs", 32, 4, (1, 4), 4, BOTH),
    ("AlterConfigs", 33, 2, (0, 2), 2, BOTH),
    ("AlterReplicaLogDirs", 34, 2, (1, 2), 2, BROKER),
    ("DescribeLogDirs", 35, 4, (1, 4), 2, BROKER),
    ("SaslAuthenticate", 36, 2, (0, 2), 2, BOTH),
    ("CreatePartitions", 37, 3, (0, 3), 2, BOTH),
    ("CreateDelegationToken", 38, 3, (1, 3), 2, BOTH),
    ("RenewDelegationToken", 39, 2, (1, 2), 2, BOTH),
    ("ExpireDelegationToken", 40, 2, (1, 2), 2, BOTH),
    ("DescribeDelegationToken", 41, 3, (1, 3), 2, BOTH),
    ("DeleteGroups", 42, 2, (0, 2), 2, BROKER),
    ("ElectLeaders", 43, 2, (0, 2), 2, BOTH),
    ("IncrementalAlterConfigs", 44, 1, (0, 1), 1, BOTH),
    ("AlterPartitionReassignments", 45, 0, (0, 0), 0, BOTH),
    ("ListPartitionReassignments", 46, 0, (0, 0), 0, BOTH),
    ("OffsetDelete", 47, 0, (0, 0), NEVER, BROKER),
    ("DescribeClientQuotas", 48, 1, (0, 1), 1, BROKER),
    ("AlterClientQuotas", 49, 1, (0, 1), 1, BOTH),
    ("DescribeUserScramCredentials", 50, 0, (0, 0), 0, BOTH),
    ("AlterUserScramCredentials", 51, 0, (0, 0), 0, BOTH),
    ("Vote", 52, 2, (0, 2), 0, CONTROLLER),
    ("BeginQuorumEpoch", 53, 1, (0, 1), 1, CONTROLLER),
    ("EndQuorumEpoch", 54, 1, (0, 1), 1, CONTROLLER),
    ("DescribeQuorum", 55, 2, (0, 2), 0, BOTH),
    ("AlterPartition", 56, 3, (2, 3), 0, CONTROLLER),
    ("UpdateFeatures", 57, 2, (0, 2), 0, BOTH),
    ("Envelope", 58, 0, (0, 0), 0, CONTROLLER),
    ("FetchSnapshot", 59, 1, (0, 1), 0, CONTROLLER),
    ("DescribeCluster", 60, 2, (0, 2), 0, BOTH),
    ("DescribeProducers", 61, 0, (0, 0), 0, BROKER),
    ("BrokerRegistration", 62, 4, (0, 4), 0, CONTROLLER),
    ("BrokerHeartbeat", 63, 1, (0, 1), 0, CONTROLLER),
    ("UnregisterBroker", 64, 0, (0, 0), 0, BOTH),
    ("DescribeTransactions", 65, 0, (0, 0), 0, BROKER),
    ("ListTransactions", 66, 1, (0, 1), 0, BROKER),
    ("AllocateProducerIds", 67, 0, (0, 0), 0, CONTROLLER),
    ("ConsumerGroupHeartbeat", 68, 1, (0, 1), 0, BROKER),
    ("ConsumerGroupDescribe", 69, 1, (0, 1), 0, BROKER),
    ("ControllerRegistration", 70, 0, (0, 0), 0, CONTROLLER),
    ("GetTelemetrySubscriptions", 71, 0, (0, 0), 0, BROKER),
    ("PushTelemetry", 72, 0, (0, 0), 0, BROKER),
    ("AssignReplicasToDirs", 73, 0, (0, 0), 0, CONTROLLER),
    ("ListClientMetricsResources", 74, 1, (0, 0), 0, BROKER),
    ("DescribeTopicPartitions", 75, 0, (0, 0), 0, BROKER),
    ("ShareGroupHeartbeat", 76, 0, (0, -1), 0, BROKER),
    ("ShareGroupDescribe", 77, 0, (0, -1), 0, BROKER),
    ("ShareFetch", 78, 0, (0, -1), 0, BROKER),
    ("ShareAcknowledge", 79, 0, (0, -1), 0, BROKER),
    ("AddRaftVoter", 80, 0, (0, 0), 0, BOTH),
    ("RemoveRaftVoter", 81, 0, (0, 0), 0, BOTH),
    ("UpdateRaftVoter", 82, 0, (0, 0), 0, CONTROLLER),
    ("InitializeShareGroupState", 83, 0, (0, -1), 0, BROKER),
    ("ReadShareGroupState", 84, 0, (0, -1), 0, BROKER),
    ("WriteShareGroupState", 85, 0, (0, -1), 0, BROKER),
    ("DeleteShareGroupState", 86, 0, (0, -1), 0, BROKER),
    ("ReadShareGroupStateSummary", 87, 0, (0, -1), 0, BROKER),
)

APIS: dict[int, Api] = {row[1]: Api(row) for row in _TABLE}
"""Every API by its key."""


def api(key: int) -> Api:
    """The API with this key.  DecodeError if there is none: the key comes from a peer."""
    try:
        return APIS[key]
    except KeyError:
        raise DecodeError(f"there is no API with key {key}") from None
