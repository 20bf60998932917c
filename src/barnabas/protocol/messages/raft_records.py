"""Control records of the metadata log: leadership, snapshots, voters."""

from typing import Annotated

from barnabas.protocol.message import Message, Struct
from barnabas.protocol.types import NO_UUID, Int16, Int32, Int64, String, Uint16, Uuid, fresh, since


class LeaderChangeVoter(Struct):
    voter_id: Int32 = 0
    voter_directory_id: Annotated[Uuid, since(1)] = NO_UUID


class LeaderChangeMessage(Message, versions="0-1", flexible="0+"):
    """The first record of a leader of the metadata log (KIP-595).

    v1: directory ids of voters.
    """

    version: Int16 = 0
    leader_id: Int32 = 0
    voters: list[LeaderChangeVoter] = []
    granting_voters: list[LeaderChangeVoter] = []


class SnapshotHeaderRecord(Message, versions="0", flexible="0+"):
    """The first record of a snapshot (KIP-630)."""

    version: Int16 = 0
    last_contained_log_timestamp: Int64 = 0


class SnapshotFooterRecord(Message, versions="0", flexible="0+"):
    """The last record of a snapshot: the snapshot is whole (KIP-630)."""

    version: Int16 = 0


class KRaftVersionRecord(Message, versions="0", flexible="0+"):
    """The version of the protocol of the metadata quorum (KIP-853)."""

    version: Int16 = 0
    k_raft_version: Int16 = 0


class Endpoint(Struct):
    name: String = ""
    host: String = ""
    port: Uint16 = 0


class KRaftVersionFeature(Struct):
    min_supported_version: Int16 = 0
    max_supported_version: Int16 = 0


class VotersVoter(Struct):
    voter_id: Int32 = 0
    voter_directory_id: Uuid = NO_UUID
    endpoints: list[Endpoint] = []
    k_raft_version_feature: KRaftVersionFeature = fresh(KRaftVersionFeature)


class VotersRecord(Message, versions="0", flexible="0+"):
    """The voters of the metadata quorum (KIP-853)."""

    version: Int16 = 0
    voters: list[VotersVoter] = []
