"""Every error code of the Kafka protocol, as a number, a sentence and whether to try again.

The table is complete up to the newest published client library, so that a code that another
cluster sends us can always be named, also where Barnabas itself never answers with it.
"""

from __future__ import annotations

import enum
from typing import Self

_RETRY = True


class ErrorCode(enum.IntEnum):
    """An error code on the wire: an int that knows its `text` and whether it is `retriable`.

    `retriable` means that the same request, unchanged, may succeed later or at another broker.
    """

    text: str
    retriable: bool

    def __new__(cls, number: int, text: str = "", retriable: bool = False) -> Self:
        code = int.__new__(cls, number)
        code._value_ = number
        code.text = text
        code.retriable = retriable
        return code

    UNKNOWN_SERVER_ERROR = -1, "The broker failed in an unexpected way; its log says how."
    NONE = 0, "No error."
    OFFSET_OUT_OF_RANGE = 1, "The offset is before the log's start or beyond its end."
    CORRUPT_MESSAGE = 2, "The record batch is damaged or malformed.", _RETRY
    UNKNOWN_TOPIC_OR_PARTITION = 3, "This broker has no such topic or partition.", _RETRY
    INVALID_FETCH_SIZE = 4, "The number of bytes asked for is not valid."
    LEADER_NOT_AVAILABLE = 5, "The partition has no leader at the moment.", _RETRY
    NOT_LEADER_OR_FOLLOWER = 6, "This broker does not lead or hold the partition.", _RETRY
    REQUEST_TIMED_OUT = 7, "The request was not completed in time.", _RETRY
    BROKER_NOT_AVAILABLE = 8, "The broker cannot be reached."
    REPLICA_NOT_AVAILABLE = 9, "The replica asked for is not available.", _RETRY
    MESSAGE_TOO_LARGE = 10, "The record batch is larger than the topic allows."
    STALE_CONTROLLER_EPOCH = 11, "The sender has been replaced by a newer controller."
    OFFSET_METADATA_TOO_LARGE = 12, "The text stored with the offset is too long."
    NETWORK_EXCEPTION = 13, "The connection was lost before the answer came.", _RETRY
    COORDINATOR_LOAD_IN_PROGRESS = 14, "The coordinator is still loading its state.", _RETRY
    COORDINATOR_NOT_AVAILABLE = 15, "No coordinator is available at the moment.", _RETRY
    NOT_COORDINATOR = 16, "Another broker is the coordinator.", _RETRY
    INVALID_TOPIC_EXCEPTION = 17, "The topic's name is not valid, or the topic may not be used so."
    RECORD_LIST_TOO_LARGE = 18, "The record batch is larger than a segment may be."
    NOT_ENOUGH_REPLICAS = 19, "Too few replicas are in sync; nothing was written.", _RETRY
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20, "Written, but too few replicas are in sync.", _RETRY
    INVALID_REQUIRED_ACKS = 21, "acks must be 0, 1 or -1."
    ILLEGAL_GENERATION = 22, "The group has moved on to another generation."
    INCONSISTENT_GROUP_PROTOCOL = 23, "The member shares no protocol with the rest of its group."
    INVALID_GROUP_ID = 24, "The group id is not valid."
    UNKNOWN_MEMBER_ID = 25, "The group has no such member."
    INVALID_SESSION_TIMEOUT = 26, "The session timeout is outside the broker's limits."
    REBALANCE_IN_PROGRESS = 27, "The group is rebalancing; join again."
    INVALID_COMMIT_OFFSET_SIZE = 28, "The committed offset takes too many bytes."
    TOPIC_AUTHORIZATION_FAILED = 29, "Not allowed on this topic."
    GROUP_AUTHORIZATION_FAILED = 30, "Not allowed on this group."
    CLUSTER_AUTHORIZATION_FAILED = 31, "Not allowed on this cluster."
    INVALID_TIMESTAMP = 32, "The record's time is too far from the broker's."
    UNSUPPORTED_SASL_MECHANISM = 33, "The SASL mechanism is not enabled here."
    ILLEGAL_SASL_STATE = 34, "The request does not fit this stage of authentication."
    UNSUPPORTED_VERSION = 35, "This version of the request is not supported."
    TOPIC_ALREADY_EXISTS = 36, "A topic of this name exists already."
    INVALID_PARTITIONS = 37, "The number of partitions is not valid."
    INVALID_REPLICATION_FACTOR = 38, "The replication factor is not valid for this cluster."
    INVALID_REPLICA_ASSIGNMENT = 39, "The assignment of replicas to brokers is not valid."
    INVALID_CONFIG = 40, "The configuration is not valid."
    NOT_CONTROLLER = 41, "This broker is not the active controller.", _RETRY
    INVALID_REQUEST = 42, "The request is malformed or contradicts itself."
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43, "The record format does not allow this."
    POLICY_VIOLATION = 44, "A policy of this cluster forbids the request."
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45, "The producer's sequence number leaves a gap."
    DUPLICATE_SEQUENCE_NUMBER = 46, "The producer's sequence number was used already."
    INVALID_PRODUCER_EPOCH = 47, "The producer's epoch is too old."
    INVALID_TXN_STATE = 48, "The transaction's state does not allow this."
    INVALID_PRODUCER_ID_MAPPING = 49, "The producer id does not belong to the transactional id."
    INVALID_TRANSACTION_TIMEOUT = 50, "The transaction timeout is above the broker's limit."
    CONCURRENT_TRANSACTIONS = 51, "The transaction's last change is still under way.", _RETRY
    TRANSACTION_COORDINATOR_FENCED = 52, "A newer transaction coordinator has taken over."
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53, "Not allowed to use this transactional id."
    SECURITY_DISABLED = 54, "Access control is not switched on."
    OPERATION_NOT_ATTEMPTED = 55, "Not tried, because another part of the request failed."
    KAFKA_STORAGE_ERROR = 56, "A log directory cannot be read or written.", _RETRY
    LOG_DIR_NOT_FOUND = 57, "The broker has no such log directory."
    SASL_AUTHENTICATION_FAILED = 58, "The credentials were not accepted."
    UNKNOWN_PRODUCER_ID = 59, "The broker knows nothing of this producer any more."
    REASSIGNMENT_IN_PROGRESS = 60, "The partition's replicas are being moved."
    DELEGATION_TOKEN_AUTH_DISABLED = 61, "Delegation tokens are not switched on."
    DELEGATION_TOKEN_NOT_FOUND = 62, "There is no such delegation token."
    DELEGATION_TOKEN_OWNER_MISMATCH = 63, "The token has another owner or renewer."
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = 64, "Tokens cannot be handled over this connection."
    DELEGATION_TOKEN_AUTHORIZATION_FAILED = 65, "Not allowed on this delegation token."
    DELEGATION_TOKEN_EXPIRED = 66, "The delegation token has expired."
    INVALID_PRINCIPAL_TYPE = 67, "This type of principal is not supported."
    NON_EMPTY_GROUP = 68, "The group still has members."
    GROUP_ID_NOT_FOUND = 69, "There is no such group."
    FETCH_SESSION_ID_NOT_FOUND = 70, "The fetch session is gone.", _RETRY
    INVALID_FETCH_SESSION_EPOCH = 71, "The fetch session's epoch is not the next one.", _RETRY
    LISTENER_NOT_FOUND = 72, "The leader has no listener of the name used here.", _RETRY
    TOPIC_DELETION_DISABLED = 73, "Deleting topics is switched off."
    FENCED_LEADER_EPOCH = 74, "The partition has a newer leader epoch.", _RETRY
    UNKNOWN_LEADER_EPOCH = 75, "This broker has not heard of the leader epoch yet.", _RETRY
    UNSUPPORTED_COMPRESSION_TYPE = 76, "This version of the request cannot carry the codec."
    STALE_BROKER_EPOCH = 77, "The broker has registered again since."
    OFFSET_NOT_AVAILABLE = 78, "The new leader does not know its high watermark yet.", _RETRY
    MEMBER_ID_REQUIRED = 79, "Join again with the member id that was given."
    PREFERRED_LEADER_NOT_AVAILABLE = 80, "The preferred leader cannot lead now.", _RETRY
    GROUP_MAX_SIZE_REACHED = 81, "The group has as many members as it may have."
    FENCED_INSTANCE_ID = 82, "Another member has taken over this instance id."
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83, "No replica may become leader now.", _RETRY
    ELECTION_NOT_NEEDED = 84, "The partition has the right leader already.", _RETRY
    NO_REASSIGNMENT_IN_PROGRESS = 85, "The partition's replicas are not being moved."
    GROUP_SUBSCRIBED_TO_TOPIC = 86, "The group still reads this topic."
    INVALID_RECORD = 87, "A record was refused; see the message for its reason."
    UNSTABLE_OFFSET_COMMIT = 88, "An open transaction may still change the offset.", _RETRY
    THROTTLING_QUOTA_EXCEEDED = 89, "The quota for such changes is used up for now.", _RETRY
    PRODUCER_FENCED = 90, "A newer producer uses the same transactional id."
    RESOURCE_NOT_FOUND = 91, "There is no such resource."
    DUPLICATE_RESOURCE = 92, "The request names the same resource twice."
    UNACCEPTABLE_CREDENTIAL = 93, "The credential does not meet the rules for one."
    INCONSISTENT_VOTER_SET = 94, "Sender and receiver disagree about who votes."
    INVALID_UPDATE_VERSION = 95, "The feature cannot be set to that version."
    FEATURE_UPDATE_FAILED = 96, "The features could not be updated."
    PRINCIPAL_DESERIALIZATION_FAILURE = 97, "The forwarded principal cannot be read."
    SNAPSHOT_NOT_FOUND = 98, "There is no such snapshot."
    POSITION_OUT_OF_RANGE = 99, "The position lies outside the snapshot."
    UNKNOWN_TOPIC_ID = 100, "This broker has no topic of this id.", _RETRY
    DUPLICATE_BROKER_REGISTRATION = 101, "Another running broker uses this node id."
    BROKER_ID_NOT_REGISTERED = 102, "No broker has registered with this id."
    INCONSISTENT_TOPIC_ID = 103, "The log belongs to a topic of another id.", _RETRY
    INCONSISTENT_CLUSTER_ID = 104, "The request is meant for another cluster."
    TRANSACTIONAL_ID_NOT_FOUND = 105, "There is no such transactional id."
    FETCH_SESSION_TOPIC_ID_ERROR = 106, "The session mixes topic names and topic ids.", _RETRY
    INELIGIBLE_REPLICA = 107, "A replica that may not be in sync was named as in sync."
    NEW_LEADER_ELECTED = 108, "The change was made, and the leader is now another one."
    OFFSET_MOVED_TO_TIERED_STORAGE = 109, "The offset is held in tiered storage only."
    FENCED_MEMBER_EPOCH = 110, "The member was fenced; give up its partitions and join again."
    UNRELEASED_INSTANCE_ID = 111, "A member with this instance id is still in the group."
    UNSUPPORTED_ASSIGNOR = 112, "The group does not support this assignor."
    STALE_MEMBER_EPOCH = 113, "The member has not yet seen its newest epoch."
    MISMATCHED_ENDPOINT_TYPE = 114, "The request was sent to the wrong kind of endpoint."
    UNSUPPORTED_ENDPOINT_TYPE = 115, "This kind of endpoint is not supported."
    UNKNOWN_CONTROLLER_ID = 116, "No controller has this id."
    UNKNOWN_SUBSCRIPTION_ID = 117, "The telemetry subscription is unknown or outdated."
    TELEMETRY_TOO_LARGE = 118, "The pushed telemetry is too large."
    INVALID_REGISTRATION = 119, "The controller does not accept the broker's registration."
    TRANSACTION_ABORTABLE = 120, "The transaction failed; abort it to go on."
    INVALID_RECORD_STATE = 121, "The record is not in a state that can be acknowledged."
    SHARE_SESSION_NOT_FOUND = 122, "The share session is gone.", _RETRY
    INVALID_SHARE_SESSION_EPOCH = 123, "The share session's epoch is not the next one.", _RETRY
    FENCED_STATE_EPOCH = 124, "The coordinator has a newer state epoch."
    INVALID_VOTER_KEY = 125, "The voter key is another replica's."
    DUPLICATE_VOTER = 126, "The voter is in the set already."
    VOTER_NOT_FOUND = 127, "The voter is not in the set."
    INVALID_REGULAR_EXPRESSION = 128, "The regular expression is not valid."
    REBOOTSTRAP_REQUIRED = 129, "The client must start again from its bootstrap servers."
    STREAMS_INVALID_TOPOLOGY = 130, "The streams topology is not valid."
    STREAMS_INVALID_TOPOLOGY_EPOCH = 131, "The streams topology's epoch is not valid."
    STREAMS_TOPOLOGY_FENCED = 132, "The group has a newer streams topology."
    SHARE_SESSION_LIMIT_REACHED = 133, "The broker holds as many share sessions as it may.", _RETRY
    GROUP_DELETION_FAILED = 134, "A group could not be deleted; its own message says why."
    STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED = 135, "The topology's description was not taken."
    CONTROLLER_ID_NOT_REGISTERED = 136, "No controller has registered with this id."
