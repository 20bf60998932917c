"""Records of the metadata log.  `api_key` is the type number of a record."""

from typing import Annotated

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import (
    NO_UUID,
    Bool,
    Bytes,
    Float64,
    Int8,
    Int16,
    Int32,
    Int64,
    NullableString,
    String,
    Uint16,
    Uuid,
    secret,
    since,
    tag,
)


class BrokerEndpoint(Struct):
    name: String = ""
    host: String = ""
    port: Uint16 = 0
    security_protocol: Int16 = 0


class BrokerFeature(Struct):
    name: String = ""
    min_supported_version: Int16 = 0
    max_supported_version: Int16 = 0


class RegisterBrokerRecord(Message, api_key=0, versions="0-4", flexible="0+"):
    """A broker registered: epoch, incarnation, endpoints, features, log directories.

    v4: directories that get no new replicas (KIP-1066); nobody here writes it.
    """

    broker_id: Int32 = 0
    is_migrating_zk_broker: Annotated[Bool, since(2)] = False
    incarnation_id: Uuid = NO_UUID
    broker_epoch: Int64 = 0
    end_points: list[BrokerEndpoint] = []
    features: list[BrokerFeature] = []
    rack: NullableString = ""
    fenced: Bool = True
    in_controlled_shutdown: Annotated[Bool, since(1)] = False
    log_dirs: Annotated[list[Uuid], since(3), tag(0)] = []
    cordoned_log_dirs: Annotated[list[Uuid] | None, since(4), tag(1)] = None


class UnregisterBrokerRecord(Message, api_key=1, versions="0", flexible="0+"):
    """A broker's registration was removed."""

    broker_id: Int32 = 0
    broker_epoch: Int64 = 0


class TopicRecord(Message, api_key=2, versions="0", flexible="0+"):
    """A topic came into being."""

    name: String = ""
    topic_id: Uuid = NO_UUID


class PartitionRecord(Message, api_key=3, versions="0-2", flexible="0+"):
    """A partition with its replicas, leader and epochs, as created or moved.

    v1: directories (KIP-858).  v2: eligible leader replicas (KIP-966).
    """

    partition_id: Int32 = -1
    topic_id: Uuid = NO_UUID
    replicas: list[Int32] = []
    isr: list[Int32] = []
    removing_replicas: list[Int32] = []
    adding_replicas: list[Int32] = []
    leader: Int32 = -1
    leader_recovery_state: Annotated[Int8, tag(0)] = 0
    leader_epoch: Int32 = -1
    partition_epoch: Int32 = -1
    directories: Annotated[list[Uuid], since(1)] = []
    eligible_leader_replicas: Annotated[list[Int32] | None, since(2), tag(1)] = None
    last_known_elr: Annotated[list[Int32] | None, since(2), tag(2)] = None


class ConfigRecord(Message, api_key=4, versions="0", flexible="0+"):
    """A setting of a resource; a null value removes it."""

    resource_type: Int8 = 0
    resource_name: String = ""
    name: String = ""
    value: Annotated[NullableString, secret] = ""


class PartitionChangeRecord(Message, api_key=5, versions="0-2", flexible="0+"):
    """What changed in a partition; fields at their defaults did not.

    v1: directories (KIP-858).  v2: eligible leader replicas (KIP-966).
    """

    partition_id: Int32 = -1
    topic_id: Uuid = NO_UUID
    isr: Annotated[list[Int32] | None, tag(0)] = None
    leader: Annotated[Int32, tag(1)] = -2
    replicas: Annotated[list[Int32] | None, tag(2)] = None
    removing_replicas: Annotated[list[Int32] | None, tag(3)] = None
    adding_replicas: Annotated[list[Int32] | None, tag(4)] = None
    leader_recovery_state: Annotated[Int8, tag(5)] = -1
    directories: Annotated[list[Uuid] | None, since(1), tag(8)] = None
    eligible_leader_replicas: Annotated[list[Int32] | None, since(2), tag(6)] = None
    last_known_elr: Annotated[list[Int32] | None, since(2), tag(7)] = None


class FenceBrokerRecord(Message, api_key=7, versions="0", flexible="0+"):
    """A broker was fenced: it leads nothing."""

    id: Int32 = 0
    epoch: Int64 = 0


class UnfenceBrokerRecord(Message, api_key=8, versions="0", flexible="0+"):
    """A broker was unfenced."""

    id: Int32 = 0
    epoch: Int64 = 0


class RemoveTopicRecord(Message, api_key=9, versions="0", flexible="0+"):
    """A topic was deleted with all its partitions."""

    topic_id: Uuid = NO_UUID


class DelegationTokenRecord(Message, api_key=10, versions="0", flexible="0+"):
    """A delegation token was issued or renewed."""

    owner: String = ""
    requester: String = ""
    renewers: list[String] = []
    issue_timestamp: Int64 = 0
    max_timestamp: Int64 = 0
    expiration_timestamp: Int64 = 0
    token_id: String = ""


class UserScramCredentialRecord(Message, api_key=11, versions="0", flexible="0+"):
    """SCRAM credentials of a user."""

    name: String = ""
    mechanism: Int8 = 0
    salt: Annotated[Bytes, secret] = b""
    stored_key: Annotated[Bytes, secret] = b""
    server_key: Annotated[Bytes, secret] = b""
    iterations: Int32 = 0


class FeatureLevelRecord(Message, api_key=12, versions="0", flexible="0+"):
    """A finalized feature level; the first record of every metadata log."""

    name: String = ""
    feature_level: Int16 = 0


class EntityData(Struct):
    entity_type: String = ""
    entity_name: NullableString = ""


class ClientQuotaRecord(Message, api_key=14, versions="0", flexible="0+"):
    """A quota, or its removal."""

    entity: list[EntityData] = []
    key: String = ""
    value: Float64 = 0.0
    remove: Bool = False


class ProducerIdsRecord(Message, api_key=15, versions="0", flexible="0+"):
    """Producer ids up to `next_producer_id` belong to brokers."""

    broker_id: Int32 = 0
    broker_epoch: Int64 = -1
    next_producer_id: Int64 = 0


class BrokerRegistrationChangeRecord(Message, api_key=17, versions="0-3", flexible="0+"):
    """What changed in a registration: fencing, controlled shutdown, log directories.

    v3: directories that get no new replicas (KIP-1066); nobody here writes it.
    """

    broker_id: Int32 = 0
    broker_epoch: Int64 = 0
    fenced: Annotated[Int8, tag(0)] = 0
    in_controlled_shutdown: Annotated[Int8, since(1), tag(1)] = 0
    log_dirs: Annotated[list[Uuid], since(2), tag(2)] = []
    cordoned_log_dirs: Annotated[list[Uuid] | None, since(3), tag(3)] = None


class AccessControlEntryRecord(Message, api_key=18, versions="0", flexible="0+"):
    """An ACL was added."""

    id: Uuid = NO_UUID
    resource_type: Int8 = 0
    resource_name: String = ""
    pattern_type: Int8 = 0
    principal: String = ""
    host: String = ""
    operation: Int8 = 0
    permission_type: Int8 = 0


class RemoveAccessControlEntryRecord(Message, api_key=19, versions="0", flexible="0+"):
    """An ACL was removed."""

    id: Uuid = NO_UUID


class NoOpRecord(Message, api_key=20, versions="0", flexible="0+"):
    """Changes nothing; shows that the controller is alive."""


class ZkMigrationStateRecord(Message, api_key=21, versions="0", flexible="0+"):
    """State of a migration of metadata."""

    zk_migration_state: Int8 = 0


class RemoveUserScramCredentialRecord(Message, api_key=22, versions="0", flexible="0+"):
    """SCRAM credentials of a user were removed."""

    name: String = ""
    mechanism: Int8 = 0


class BeginTransactionRecord(Message, api_key=23, versions="0", flexible="0+"):
    """Records up to the matching end count only together (KIP-868)."""

    name: Annotated[NullableString, tag(0)] = None


class EndTransactionRecord(Message, api_key=24, versions="0", flexible="0+"):
    """The records since the matching begin count."""


class AbortTransactionRecord(Message, api_key=25, versions="0", flexible="0+"):
    """The records since the matching begin do not count."""

    reason: Annotated[NullableString, tag(0)] = None


class RemoveDelegationTokenRecord(Message, api_key=26, versions="0", flexible="0+"):
    """A delegation token was removed."""

    token_id: String = ""


class ControllerEndpoint(Struct):
    name: String = ""
    host: String = ""
    port: Uint16 = 0
    security_protocol: Int16 = 0


class ControllerFeature(Struct):
    name: String = ""
    min_supported_version: Int16 = 0
    max_supported_version: Int16 = 0


class RegisterControllerRecord(Message, api_key=27, versions="0", flexible="0+"):
    """A controller registered (KIP-919)."""

    controller_id: Int32 = 0
    incarnation_id: Uuid = NO_UUID
    zk_migration_ready: Bool = False
    end_points: list[ControllerEndpoint] = []
    features: list[ControllerFeature] = []


class ClearElrRecord(Message, api_key=28, versions="0", flexible="0+"):
    """Eligible leader replicas of one topic, or of all, were cleared (KIP-966)."""

    topic_name: String = ""


METADATA_RECORDS: dict[int, type[Message]] = {
    record.api_key: record
    for record in (
        RegisterBrokerRecord,
        UnregisterBrokerRecord,
        TopicRecord,
        PartitionRecord,
        ConfigRecord,
        PartitionChangeRecord,
        FenceBrokerRecord,
        UnfenceBrokerRecord,
        RemoveTopicRecord,
        DelegationTokenRecord,
        UserScramCredentialRecord,
        FeatureLevelRecord,
        ClientQuotaRecord,
        ProducerIdsRecord,
        BrokerRegistrationChangeRecord,
        AccessControlEntryRecord,
        RemoveAccessControlEntryRecord,
        NoOpRecord,
        ZkMigrationStateRecord,
        RemoveUserScramCredentialRecord,
        BeginTransactionRecord,
        EndTransactionRecord,
        AbortTransactionRecord,
        RemoveDelegationTokenRecord,
        RegisterControllerRecord,
        ClearElrRecord,
    )
}
"""The records of the metadata log by the type number that stands before each."""
