from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from barnabas.base.errors import ErrorCode, StorageFailed
from barnabas.base.settings import BrokerConfig
from barnabas.controller import decider
from barnabas.controller.decider.brokers import decide_fence
from barnabas.controller.decider.decision import Decision
from barnabas.protocol.messages import metadata_records as mr
from barnabas.protocol.messages.broker_heartbeat import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
)
from barnabas.protocol.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    Feature,
    Listener,
)
from barnabas.protocol.messages.unregister_broker import (
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)

NEW = b"n" * 16
DIR = b"d" * 16


def registration(broker_id: int = 1, **fields: Any) -> BrokerRegistrationRequest:
    values: dict[str, Any] = {
        "cluster_id": "cluster-of-the-test-00",
        "incarnation_id": NEW,
        "listeners": [Listener(name="IN", host="h", port=9, security_protocol=2)],
        "features": [Feature(name="f", min_supported_version=0, max_supported_version=3)],
        "rack": "r",
        "log_dirs": [DIR],
    }
    return BrokerRegistrationRequest(broker_id=broker_id, **(values | fields))


def registered(broker_id: int, epoch: int) -> mr.RegisterBrokerRecord:
    return mr.RegisterBrokerRecord(
        broker_id=broker_id,
        incarnation_id=NEW,
        broker_epoch=epoch,
        end_points=[mr.BrokerEndpoint(name="IN", host="h", port=9, security_protocol=2)],
        features=[mr.BrokerFeature(name="f", min_supported_version=0, max_supported_version=3)],
        rack="r",
        fenced=True,
        log_dirs=[DIR],
    )


def changed(world: Any, broker_id: int, **fields: int) -> mr.BrokerRegistrationChangeRecord:
    epoch = world.image.brokers[broker_id].epoch
    return mr.BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=epoch, **fields)


def heartbeat(world: Any, broker_id: int = 1, **fields: Any) -> BrokerHeartbeatRequest:
    values: dict[str, Any] = {
        "broker_epoch": world.image.brokers[broker_id].epoch,
        "current_metadata_offset": world.image.applied_offset,
    }
    return BrokerHeartbeatRequest(broker_id=broker_id, **(values | fields))


def beaten(*, fenced: bool, leave: bool = False, caught_up: bool = True) -> BrokerHeartbeatResponse:
    return BrokerHeartbeatResponse(is_caught_up=caught_up, is_fenced=fenced, should_shut_down=leave)


# Registration


def test_a_new_broker_is_registered_fenced_and_its_epoch_is_the_records_offset(
    world: Any,
) -> None:
    world.image.applied_offset = 41

    assert world.decide(registration()) == Decision(
        records=(registered(1, 42),), response=BrokerRegistrationResponse(broker_epoch=42)
    )


def test_the_same_process_asking_again_keeps_its_epoch(world: Any) -> None:
    first = world.do(registration()).broker_epoch
    world.replay(mr.NoOpRecord())

    again = world.decide(registration(rack="other"))

    assert again.response == BrokerRegistrationResponse(broker_epoch=first)
    assert [r.broker_epoch for r in again.records] == [first]


def test_what_a_dead_process_led_is_taken_from_it_before_it_comes_back(trio: Any) -> None:
    t = trio.add_topic("t", [1, 2], [2, 1], [1])
    first = trio.image.applied_offset + 1

    decision = trio.decide(registration(1))

    assert decision == Decision(
        records=(
            mr.PartitionChangeRecord(partition_id=0, topic_id=t, isr=[2], leader=2),
            mr.PartitionChangeRecord(partition_id=1, topic_id=t, isr=[2]),
            mr.PartitionChangeRecord(partition_id=2, topic_id=t, leader=-1),
            registered(1, first + 3),
        ),
        response=BrokerRegistrationResponse(broker_epoch=first + 3),
    )
    trio.replay(*decision.records)
    assert trio.image.applied_offset == first + 3
    assert trio.image.brokers[1].fenced


def test_the_same_process_asking_again_stays_as_it_is(trio: Any) -> None:
    trio.add_topic("t", [1, 2])

    trio.do(registration(1, incarnation_id=b"\1" * 16, log_dirs=[]))

    assert trio.image.brokers[1].is_active
    assert trio.image.partition("t", 0).leader == 1


def test_a_process_that_takes_over_from_one_that_leaves_need_not_wait(trio: Any) -> None:
    trio.add_topic("t", [1, 2])
    trio.sessions.touch(1, 0)
    assert trio.decide(registration(1)).response.error_code == 101
    trio.do(heartbeat(trio, want_shut_down=True))

    assert trio.decide(registration(1)).response.error_code == 0


def test_a_broker_must_support_what_the_cluster_uses(world: Any) -> None:
    world.replay(mr.FeatureLevelRecord(name="f", feature_level=4))

    assert world.decide(registration()) == Decision(
        response=BrokerRegistrationResponse(error_code=35)
    )


def test_a_log_directory_belongs_to_one_broker(trio: Any) -> None:
    other = trio.image.brokers[2].log_dirs[0]

    for dirs in ([other], [DIR, DIR]):
        refused = trio.decide(registration(1, log_dirs=dirs))
        assert refused.response.error_code == ErrorCode.INVALID_REGISTRATION


def test_a_broker_that_was_already_fenced_just_registers(world: Any) -> None:
    world.add_broker(1, fenced=True)

    assert len(world.decide(registration()).records) == 1


def test_another_process_cannot_take_a_living_brokers_place(trio: Any) -> None:
    trio.sessions.touch(2, 1_000)

    refused = trio.decide(registration(2), now_ms=9_999)
    later = trio.decide(registration(2), now_ms=10_000)

    assert refused == Decision(
        response=BrokerRegistrationResponse(
            error_code=ErrorCode.DUPLICATE_BROKER_REGISTRATION, broker_epoch=-1
        )
    )
    assert later.response.error_code == 0


def test_a_broker_cannot_have_the_id_of_a_controller_that_is_no_broker(world: Any) -> None:
    controller = {
        "process.roles": "controller",
        "node.id": "1",
        "controller.listener.names": "CONTROLLER",
        "listeners": "CONTROLLER://localhost:9093",
    }
    world.env = replace(world.env, config=BrokerConfig.from_properties(controller))

    assert world.decide(registration(1)).response.error_code == 101
    assert world.decide(registration(2)).response.error_code == 0


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"cluster_id": "another"}, ErrorCode.INCONSISTENT_CLUSTER_ID),
        ({"broker_id": -1}, ErrorCode.INVALID_REGISTRATION),
        ({"listeners": []}, ErrorCode.INVALID_REGISTRATION),
    ],
)
def test_a_broker_of_another_cluster_or_without_address_is_refused(
    world: Any, fields: dict[str, Any], code: ErrorCode
) -> None:
    assert world.decide(registration(**({"broker_id": 1} | fields))) == Decision(
        response=BrokerRegistrationResponse(error_code=code, broker_epoch=-1)
    )


# Heartbeats


def test_a_broker_that_has_caught_up_is_unfenced_and_leads_what_waited_for_it(world: Any) -> None:
    world.add_broker(1)
    t = world.add_topic("t", [1])
    epoch = world.do(registration(1)).broker_epoch

    decision = world.decide(heartbeat(world))

    assert decision == Decision(
        records=(
            mr.BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=epoch, fenced=-1),
            mr.PartitionChangeRecord(partition_id=0, topic_id=t, leader=1),
        ),
        response=beaten(fenced=False),
    )


def test_a_broker_that_is_behind_stays_fenced(world: Any) -> None:
    world.do(registration(1))

    decision = world.decide(heartbeat(world, current_metadata_offset=-1))

    assert decision == Decision(response=beaten(fenced=True, caught_up=False))


def test_a_broker_may_ask_to_stay_fenced(world: Any) -> None:
    world.do(registration(1))

    assert world.decide(heartbeat(world, want_fence=True)) == Decision(response=beaten(fenced=True))


def test_a_living_broker_changes_nothing(single: Any) -> None:
    assert single.decide(heartbeat(single)) == Decision(response=beaten(fenced=False))


def test_a_broker_can_have_itself_fenced(trio: Any) -> None:
    t = trio.add_topic("t", [1, 2])

    assert trio.decide(heartbeat(trio, want_fence=True)) == Decision(
        records=(
            mr.PartitionChangeRecord(partition_id=0, topic_id=t, isr=[2], leader=2),
            changed(trio, 1, fenced=1),
        ),
        response=beaten(fenced=True),
    )


def test_a_broker_that_shuts_down_hands_its_partitions_over_first(trio: Any) -> None:
    t = trio.add_topic("t", [1, 2], [1])

    first = trio.decide(heartbeat(trio, want_shut_down=True))
    assert first == Decision(
        records=(
            changed(trio, 1, in_controlled_shutdown=1),
            mr.PartitionChangeRecord(partition_id=0, topic_id=t, isr=[2], leader=2),
            mr.PartitionChangeRecord(partition_id=1, topic_id=t, leader=-1),
        ),
        response=beaten(fenced=False),
    )
    trio.replay(*first.records)
    trio.sessions.start_leaving(1, trio.image.applied_offset)

    assert trio.decide(heartbeat(trio, want_shut_down=True)) == Decision(
        records=(changed(trio, 1, fenced=1),), response=beaten(fenced=True, leave=True)
    )


def test_a_broker_may_go_when_every_active_broker_knows_who_leads_instead(trio: Any) -> None:
    trio.add_topic("t", [1, 2])
    trio.do(heartbeat(trio, want_shut_down=True))
    since = trio.image.applied_offset
    assert trio.decide(heartbeat(trio, want_shut_down=True)).response == beaten(fenced=False)

    trio.sessions.start_leaving(1, since)
    trio.sessions.touch(2, 0, metadata_offset=since)
    trio.sessions.touch(3, 0, metadata_offset=since - 1)
    assert trio.decide(heartbeat(trio, want_shut_down=True)).response == beaten(fenced=False)

    trio.replay(changed(trio, 3, fenced=1))
    last = trio.decide(heartbeat(trio, want_shut_down=True)).response
    assert last == beaten(fenced=True, leave=True), "who is fenced is not waited for"


def test_a_broker_on_its_way_out_comes_back_only_by_registering(trio: Any) -> None:
    trio.add_topic("t", [1, 2])
    trio.do(heartbeat(trio, want_shut_down=True))
    trio.replay(changed(trio, 1, fenced=1))

    assert trio.decide(heartbeat(trio)) == Decision(response=beaten(fenced=True))
    trio.sessions.touch(1, 0)
    trio.do(registration(1))
    assert trio.do(heartbeat(trio)) == beaten(fenced=False)
    assert trio.image.brokers[1].is_active


def test_a_broker_that_nobody_can_replace_may_go_at_once(single: Any) -> None:
    t = single.add_topic("t", [1])

    assert single.decide(heartbeat(single, want_shut_down=True)) == Decision(
        records=(
            mr.PartitionChangeRecord(partition_id=0, topic_id=t, leader=-1),
            changed(single, 1, fenced=1),
        ),
        response=beaten(fenced=True, leave=True),
    )


def test_a_fenced_broker_may_go_at_once(world: Any) -> None:
    world.add_broker(1, fenced=True)

    assert world.decide(heartbeat(world, want_shut_down=True)) == Decision(
        response=beaten(fenced=True, leave=True)
    )


def test_what_is_in_a_failed_log_directory_is_led_by_others(world: Any) -> None:
    world.add_broker(1, dirs=2)
    world.add_broker(2)
    good, bad = world.image.brokers[1].log_dirs
    t = world.add_topic("t", [1, 2], [1, 2], [2, 1])
    for index, place in enumerate((good, bad, bad)):
        others = [place, bytes(15) + b"\1"]
        others = others if index < 2 else others[::-1]
        world.replay(mr.PartitionChangeRecord(partition_id=index, topic_id=t, directories=others))

    decision = world.decide(heartbeat(world, offline_log_dirs=[bad, b"x" * 16]))

    assert decision == Decision(
        records=(
            mr.PartitionChangeRecord(partition_id=1, topic_id=t, isr=[2], leader=2),
            mr.PartitionChangeRecord(partition_id=2, topic_id=t, isr=[2]),
            changed(world, 1, log_dirs=[good]),
        ),
        response=beaten(fenced=False),
    )
    world.replay(*decision.records)
    assert world.decide(heartbeat(world, offline_log_dirs=[bad])).records == ()


def test_a_broker_is_let_in_after_its_failed_directory_is_known(world: Any) -> None:
    world.add_broker(1, dirs=2, fenced=True)
    bad = world.image.brokers[1].log_dirs[1]
    world.add_topic("t", [1])
    world.replay(
        mr.PartitionChangeRecord(
            partition_id=0, topic_id=b"t".ljust(16, b"\0"), leader=-1, directories=[bad]
        )
    )

    assert world.do(heartbeat(world, offline_log_dirs=[bad])) == beaten(fenced=True)
    assert world.do(heartbeat(world, offline_log_dirs=[bad])) == beaten(fenced=False)
    assert world.image.partition("t", 0).leader == -1, "its only replica is in that directory"


@pytest.mark.parametrize(("broker_id", "epoch"), [(1, 77), (9, 0)])
def test_a_heartbeat_of_an_old_registration_is_stale(
    single: Any, broker_id: int, epoch: int
) -> None:
    request = BrokerHeartbeatRequest(broker_id=broker_id, broker_epoch=epoch)

    assert single.decide(request) == Decision(
        response=BrokerHeartbeatResponse(error_code=ErrorCode.STALE_BROKER_EPOCH)
    )


def test_a_broker_whose_session_ended_is_fenced_once(trio: Any) -> None:
    t = trio.add_topic("t", [2, 3])

    decision = decide_fence(trio.image, 2, trio.env)
    assert decision.records == (
        mr.PartitionChangeRecord(partition_id=0, topic_id=t, isr=[3], leader=3),
        changed(trio, 2, fenced=1),
    )
    trio.replay(*decision.records)
    assert decide_fence(trio.image, 2, trio.env).records == ()
    assert decide_fence(trio.image, 99, trio.env).records == ()


@pytest.mark.parametrize("level", ["topic", "cluster"])
def test_an_unclean_leader_is_elected_where_that_is_allowed(trio: Any, level: str) -> None:
    t = trio.add_topic("t", [1, 2], isr=[1])
    kind, name = (2, "t") if level == "topic" else (4, "")
    trio.replay(
        mr.ConfigRecord(
            resource_type=kind,
            resource_name=name,
            name="unclean.leader.election.enable",
            value="true",
        )
    )

    decision = decide_fence(trio.image, 1, trio.env)

    assert decision.records[0] == mr.PartitionChangeRecord(
        partition_id=0, topic_id=t, isr=[2], leader=2, leader_recovery_state=1
    )


# Unregistration


def test_an_unregistered_broker_leads_nothing_and_keeps_its_replicas(trio: Any) -> None:
    t = trio.add_topic("t", [3, 2])
    epoch = trio.image.brokers[3].epoch

    decision = trio.decide(UnregisterBrokerRequest(broker_id=3))

    assert decision == Decision(
        records=(
            mr.PartitionChangeRecord(partition_id=0, topic_id=t, isr=[2], leader=2),
            mr.UnregisterBrokerRecord(broker_id=3, broker_epoch=epoch),
        ),
        response=UnregisterBrokerResponse(error_message=None),
    )
    trio.replay(*decision.records)
    assert trio.image.topics["t"].partitions[0].replicas == (3, 2)


def test_who_was_forgotten_is_not_eligible_any_more(trio: Any) -> None:
    trio.add_topic("t", [3, 2], isr=[2])
    trio.replay(
        mr.FeatureLevelRecord(name="eligible.leader.replicas.version", feature_level=1),
        mr.ConfigRecord(resource_type=4, name="min.insync.replicas", value="2"),
        mr.PartitionChangeRecord(
            partition_id=0, topic_id=b"t".ljust(16, b"\0"), eligible_leader_replicas=[3]
        ),
    )

    trio.do(UnregisterBrokerRequest(broker_id=3))

    partition = trio.image.partition("t", 0)
    assert (partition.replicas, partition.isr, partition.elr) == ((3, 2), (2,), ())


def test_the_node_that_decides_does_not_forget_itself(single: Any) -> None:
    single.add_topic("t", [1])

    assert single.decide(UnregisterBrokerRequest(broker_id=1)) == Decision(
        response=UnregisterBrokerResponse(
            error_code=ErrorCode.INVALID_REQUEST,
            error_message="Broker 1 is the active controller: stop it first.",
        )
    )


def test_a_broker_that_is_not_registered_cannot_be_unregistered(single: Any) -> None:
    assert single.decide(UnregisterBrokerRequest(broker_id=8)) == Decision(
        response=UnregisterBrokerResponse(
            error_code=ErrorCode.BROKER_ID_NOT_REGISTERED,
            error_message="Broker ID 8 is not currently registered",
        )
    )


def test_nothing_could_be_done_is_said_by_its_code() -> None:
    error = StorageFailed("full")

    assert decider.refuse(registration(), error) == BrokerRegistrationResponse(
        error_code=56, broker_epoch=-1
    )
    assert decider.refuse(BrokerHeartbeatRequest(), error) == BrokerHeartbeatResponse(error_code=56)
    assert decider.refuse(UnregisterBrokerRequest(), error) == UnregisterBrokerResponse(
        error_code=56, error_message="full"
    )
