"""How long groups and offsets last: expiry, restarts, and the settings that decide."""

from __future__ import annotations

from group_clients import ClassicClient, Client, ModernClient, settled
from group_machine import GROUP, GroupMachine, subscription, topic

from barnabas.base.errors import ErrorCode as E
from barnabas.base.settings.broker import BrokerConfig
from barnabas.coordinator.group.config import GroupConfig, MigrationPolicy
from barnabas.protocol.messages.list_groups import ListGroupsRequest

DAY_MS = 24 * 60 * 60 * 1000
WEEK_MS = 7 * DAY_MS
CHECK_MS = 10 * 60 * 1000


def listed(machine: GroupMachine) -> list[str]:
    return sorted(group.group_id for group in machine.send(ListGroupsRequest()).reply.groups)


# Expiry


def test_offsets_of_a_simple_group_expire_after_their_last_commit() -> None:
    machine = GroupMachine()
    machine.commit(5)
    machine.commit(5, partition=1)
    machine.advance(DAY_MS)
    machine.commit(6, partition=1)

    machine.advance(WEEK_MS - DAY_MS + CHECK_MS)

    assert machine.fetch() == (-1, 0)
    assert machine.fetch(partition=1) == (6, 0)
    machine.advance(DAY_MS)
    assert listed(machine) == []


def test_offsets_of_a_classic_group_expire_after_the_last_member_left() -> None:
    machine = GroupMachine()
    generation, (member_id,) = machine.stable_group(session_ms=30 * 60 * 1000)
    machine.commit(5, member=member_id, epoch=generation)
    for _ in range(8 * 24 * 3):
        machine.advance(20 * 60 * 1000)
        assert machine.heartbeat(member_id, generation) == E.NONE
    assert machine.fetch() == (5, 0), "not while it has members"
    machine.leave((member_id, None))

    machine.advance(WEEK_MS - CHECK_MS)
    assert machine.fetch() == (5, 0)
    machine.advance(2 * CHECK_MS)

    assert machine.fetch() == (-1, 0)
    assert listed(machine) == []
    machine.restart()
    assert machine.shard.state.groups == {}


def test_offsets_of_topics_that_a_group_no_longer_reads_expire_while_it_lives() -> None:
    machine = GroupMachine()
    reads_t = [("range", subscription("t"))]
    generation, (member_id,) = machine.stable_group(session_ms=30 * 60 * 1000, protocols=reads_t)
    for name in ("t", "u"):
        machine.commit(5, topic=name, member=member_id, epoch=generation)
    for _ in range(8 * 24 * 3):
        machine.advance(20 * 60 * 1000)
        machine.heartbeat(member_id, generation)

    assert machine.fetch(topic="t") == (5, 0)
    assert machine.fetch(topic="u") == (-1, 0)


def test_offsets_of_a_consumer_group_expire_unless_it_reads_the_topic() -> None:
    machine = GroupMachine([topic("t", 1)])
    machine.consume("a", names=["t"])
    for name in ("t", "u"):
        machine.commit(5, topic=name, member="a", epoch=1)
    for _ in range(7 * 24 * 60 * 2 + 100):
        machine.advance(30_000)
        machine.consume("a", 1)
    assert machine.fetch(topic="t") == (5, 0)
    assert machine.fetch(topic="u") == (-1, 0)

    machine.consume("a", -1)
    machine.advance(2 * CHECK_MS)

    assert machine.fetch(topic="t") == (-1, 0)
    assert listed(machine) == []


def test_an_offset_with_its_own_retention_expires_by_it() -> None:
    machine = GroupMachine()
    machine.commit(5, retention_ms=60_000, version=4)
    machine.commit(6, partition=1)

    machine.advance(CHECK_MS)

    assert machine.fetch() == (-1, 0)
    assert machine.fetch(partition=1) == (6, 0)


def test_offsets_that_a_transaction_may_still_change_do_not_expire() -> None:
    machine = GroupMachine()
    machine.commit(5)
    machine.txn_commit(6)

    machine.advance(WEEK_MS + CHECK_MS)

    assert machine.fetch() == (5, 0)


def test_a_group_that_nobody_joined_in_the_end_is_forgotten() -> None:
    machine = GroupMachine()
    machine.join()
    machine.advance(20_000)
    assert listed(machine) == [GROUP]

    machine.advance(CHECK_MS)

    assert listed(machine) == []
    assert machine.log.batches == []


# Loading


def test_a_classic_group_goes_on_after_a_restart() -> None:
    machine = GroupMachine([topic("t", 3)])
    clients: list[Client] = [ClassicClient(machine, ["t"]), ClassicClient(machine, ["t"], "i")]
    settled(clients, machine, 5)
    before = machine.describe()

    machine.restart()

    assert machine.describe() == before
    for client in clients:
        client.step()
        assert client.owned
    machine.advance(10_000)
    assert machine.describe().group_state == "Empty", "sessions run from the restart on"


def test_a_consumer_group_goes_on_after_a_restart() -> None:
    machine = GroupMachine([topic("t", 4)])
    clients: list[Client] = [
        ModernClient(machine, "a", names=["t"]),
        ModernClient(machine, "b", regex="t", instance="i", assignor="range"),
    ]
    settled(clients, machine, 5)
    before = machine.describe_consumer()

    machine.restart(machine.log.compacted())

    assert machine.describe_consumer() == before
    epochs = [client.epoch for client in clients if isinstance(client, ModernClient)]
    settled(clients, machine, 3)
    assert epochs == [client.epoch for client in clients if isinstance(client, ModernClient)]
    machine.advance(45_000)
    assert machine.describe_consumer().members == []


def test_a_member_that_must_give_up_has_its_time_again_after_a_restart() -> None:
    machine = GroupMachine([topic("t", 2)])
    machine.consume("a", names=["t"], rebalance_ms=7_000)
    machine.consume("b", names=["t"])
    machine.consume("a", 1)
    machine.restart()

    machine.advance(6_999)
    assert len(machine.describe_consumer().members) == 2
    machine.advance(1)

    assert [m.member_id for m in machine.describe_consumer().members] == ["b"]


def test_a_group_that_is_too_big_after_a_restart_rebalances() -> None:
    machine = GroupMachine(config=GroupConfig(initial_rebalance_delay_ms=100, max_size=3))
    machine.stable_group(3)
    small = GroupMachine(config=GroupConfig(max_size=2))

    small.restart(machine.log.batches)
    small.advance(1)

    assert small.describe().group_state == "PreparingRebalance"


# Settings


def test_settings_come_from_the_declarations() -> None:
    plain = GroupConfig.from_settings(BrokerConfig({}))
    changed = GroupConfig.from_settings(
        BrokerConfig(
            {
                "offsets.retention.minutes": "2",
                "group.consumer.migration.policy": "UPGRADE",
                "group.coordinator.rebalance.protocols": "classic",
                "group.consumer.assignors": "range",
            }
        )
    )

    assert plain == GroupConfig(
        consumer_assignment_interval_ms=plain.consumer_assignment_interval_ms
    )
    assert changed.offsets_retention_ms == 120_000
    assert changed.consumer_migration_policy is MigrationPolicy.UPGRADE
    assert not changed.serves_consumer_protocol
    assert changed.consumer_assignors == ("range",)
