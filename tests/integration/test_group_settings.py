"""Settings of single groups: told to members with their next heartbeat, kept, undone."""

from __future__ import annotations

from pathlib import Path

from barnabas_process import BarnabasProcess
from broker_facts import create_topics
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)
from eventually import eventually
from wire_client import WireClient

from barnabas.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from barnabas.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

GROUP = 32
SET, DELETE = 0, 1
SESSION, BEAT = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"


def alter(client: WireClient, group: str, *changes: tuple[str, int, str | None]) -> None:
    edits = [AlterableConfig(name=n, config_operation=op, value=v) for n, op, v in changes]
    resource = AlterConfigsResource(resource_type=GROUP, resource_name=group, configs=edits)
    answer = client.call(IncrementalAlterConfigsRequest(resources=[resource]), 1).responses[0]
    assert answer.error_code == 0, answer


def join(client: WireClient, group: str) -> int:
    """Join; the epoch."""
    lookup = FindCoordinatorRequest(key_type=0, coordinator_keys=[group])
    eventually(lambda: client.call(lookup, 4).coordinators[0].error_code == 0)
    answer = client.call(
        ConsumerGroupHeartbeatRequest(
            group_id=group,
            member_id="m",
            member_epoch=0,
            rebalance_timeout_ms=60_000,
            subscribed_topic_names=["t"],
            topic_partitions=[],
        ),
        1,
    )
    assert answer.error_code == 0, answer
    return int(answer.member_epoch)


def interval(client: WireClient, group: str, epoch: int) -> int:
    """How often the member is told to send heartbeats."""
    beat = ConsumerGroupHeartbeatRequest(group_id=group, member_id="m", member_epoch=epoch)
    answer = client.call(beat, 1)
    assert answer.error_code == 0, answer
    return int(answer.heartbeat_interval_ms)


def test_members_are_told_with_their_next_heartbeat(tmp_path: Path) -> None:
    with BarnabasProcess(tmp_path) as broker, WireClient(broker.port) as client:
        create_topics(broker.bootstrap, "t")
        epoch = join(client, "g")
        other = join(client, "other")
        assert interval(client, "g", epoch) == 5000

        alter(client, "g", (BEAT, SET, "7000"))

        assert interval(client, "g", epoch) == 7000
        assert interval(client, "other", other) == 5000
        alter(client, "g", (BEAT, DELETE, None))
        assert interval(client, "g", epoch) == 5000


def test_a_shorter_session_ends_sooner(tmp_path: Path) -> None:
    limits = (
        "group.consumer.min.session.timeout.ms=100",
        "group.consumer.min.heartbeat.interval.ms=10",
    )
    with BarnabasProcess(tmp_path, *limits) as broker, WireClient(broker.port) as client:
        create_topics(broker.bootstrap, "t")
        alter(client, "brief", (SESSION, SET, "150"), (BEAT, SET, "100"))
        join(client, "brief")
        join(client, "usual")

        def states() -> list[str]:
            asked = ConsumerGroupDescribeRequest(group_ids=["brief", "usual"])
            return [group.group_state for group in client.call(asked, 1).groups]

        eventually(lambda: states() == ["Empty", "Stable"])


def test_settings_of_groups_are_kept_and_shown_by_clients(tmp_path: Path) -> None:
    def entry(broker: BarnabasProcess) -> ConfigEntry:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        wanted = ConfigResource(ResourceType.GROUP, "g")
        (found,) = admin.describe_configs([wanted]).values()
        described: dict[str, ConfigEntry] = found.result(30)
        return described[SESSION]

    with BarnabasProcess(tmp_path) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        change = ConfigEntry(SESSION, "50000", incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.GROUP, "g", incremental_configs=[change])
        (done,) = admin.incremental_alter_configs([resource]).values()
        done.result(30)
        assert (entry(broker).value, entry(broker).is_default) == ("50000", False)
        broker.kill()
    with BarnabasProcess(tmp_path) as broker:
        assert entry(broker).value == "50000"
