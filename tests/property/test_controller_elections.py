"""Whatever happens to brokers, no clean leader lacks a committed record, and every move ends.

The deciders run on an image; beside it a model keeps what is really in each replica's log.  A
record is committed when every replica in sync has it (and, where eligible replicas are kept track
of, when there are enough in sync).  So a decider that lets the wrong one lead, or calls the wrong
one eligible, is caught by the data and not by a copy of its own rules.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from barnabas.base.settings import BrokerConfig
from barnabas.controller import decider
from barnabas.controller.bootstrap import initial_records
from barnabas.controller.decider import elections
from barnabas.controller.decider.brokers import decide_fence
from barnabas.controller.decider.decision import Decision, Environment
from barnabas.controller.decider.elections import finished, with_eligible
from barnabas.controller.decider.features import SUPPORTED
from barnabas.controller.decider.periodic import decide_preferred
from barnabas.controller.image import ClusterImage, PartitionImage
from barnabas.controller.record_codec import decode_record, encode_record
from barnabas.controller.sessions import BrokerSessions
from barnabas.protocol.message import Message
from barnabas.protocol.messages import alter_partition as ap
from barnabas.protocol.messages import incremental_alter_configs as iac
from barnabas.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from barnabas.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from barnabas.protocol.messages.broker_registration import (
    BrokerRegistrationRequest,
    Feature,
    Listener,
)
from barnabas.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from barnabas.protocol.messages.unregister_broker import UnregisterBrokerRequest
from barnabas.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

CLUSTER = "cluster-of-the-test-00"
ELR = "eligible.leader.replicas.version"
BROKERS = (1, 2, 3, 4)
PARTITIONS = (0,)
MIN_ISR = 2
broker_ids = st.sampled_from(BROKERS)
indexes = st.sampled_from(PARTITIONS)


class Replicas(RuleBasedStateMachine):
    """Four brokers, one partition with three replicas."""

    @initialize(elr=st.booleans(), seed=st.integers(0, 99))
    def start(self, elr: bool, seed: int) -> None:
        config = BrokerConfig.from_properties(
            {"node.id": "100", "min.insync.replicas": str(MIN_ISR)}
        )
        sessions = BrokerSessions(9_000)
        self.env = Environment(config=config, sessions=sessions, random=Random(seed))
        self.image = ClusterImage(CLUSTER)
        self.journal: list[tuple[Message, ...]] = []
        self.elr = elr
        self.records = 0
        self.incarnation = 0
        self.vouched_for: list[int] = []
        """By a leader, in the request that is being decided."""
        self.leaders: dict[tuple[int, int], int] = {}
        self.logs: dict[tuple[int, int], list[int]] = {}
        self.committed: dict[int, list[int]] = {index: [] for index in PARTITIONS}
        self.commit(Decision(records=tuple(initial_records()), response=CreateTopicsRequest()))
        for broker_id in BROKERS:
            self.restart(broker_id, 0)
        self.ask(
            CreateTopicsRequest(
                topics=[
                    CreatableTopic(name="t", num_partitions=len(PARTITIONS), replication_factor=3)
                ]
            )
        )
        if elr:
            update = FeatureUpdateKey(feature=ELR, max_version_level=1, upgrade_type=1)
            assert self.ask(UpdateFeaturesRequest(feature_updates=[update])).error_code == 0

    # The machinery

    def partition(self, index: int) -> PartitionImage:
        return self.image.topics["t"].partitions[index]

    def ask(self, request: Message) -> Any:
        return self.commit(decider.decide(self.image, request, 0, self.env))

    def commit(self, decision: Decision) -> Any:
        """Replay what was decided, as it comes back from the journal."""
        before = list(self.image.topics["t"].partitions) if "t" in self.image.topics else []
        if decision.records:
            stored = [decode_record(encode_record(record)) for record in decision.records]
            run = tuple(record for record in stored if record is not None)
            assert run == decision.records
            self.journal.append(run)
            offset = self.image.applied_offset + len(run)
            self.image.replay_run(run, offset=offset, epoch=1)
        for index, old in enumerate(before):
            self.follow(index, old, self.partition(index))
        return decision.response

    def follow(self, index: int, old: PartitionImage, new: PartitionImage) -> None:
        """What brokers do about a change: drop logs, lead, commit."""
        assert new.partition_epoch >= old.partition_epoch
        assert new.leader_epoch >= old.leader_epoch
        for broker_id in BROKERS:
            if broker_id not in new.replicas:
                self.logs.pop((index, broker_id), None)
        if new.leader >= 0 and new.leader_epoch > old.leader_epoch:
            known = self.leaders.setdefault((index, new.leader_epoch), new.leader)
            assert known == new.leader, "one leader an epoch"
            if new.leader not in {*old.isr, *old.elr, *self.vouched_for}:
                assert new.recovering, "only an unclean leader comes from outside"
                self.committed[index] = common([self.committed[index], self.log(index, new.leader)])
        self.advance(index)

    def log(self, index: int, broker_id: int) -> list[int]:
        return self.logs.setdefault((index, broker_id), [])

    def advance(self, index: int) -> None:
        """Commit what all in sync have, if they are enough."""
        partition = self.partition(index)
        if partition.leader < 0 or (self.elr and len(partition.isr) < MIN_ISR):
            return
        shared = common([self.log(index, broker_id) for broker_id in partition.isr])
        if len(shared) > len(self.committed[index]):
            self.committed[index] = shared

    def is_up(self, broker_id: int) -> bool:
        broker = self.image.brokers.get(broker_id)
        return broker is not None and not broker.fenced

    # Brokers

    @rule(dead=st.lists(broker_ids, min_size=1, max_size=3, unique=True))
    def die(self, dead: list[int]) -> None:
        """One after the other, in that order."""
        for broker_id in dead:
            self.commit(decide_fence(self.image, broker_id, self.env))

    @rule(dead=st.permutations(BROKERS), lost=st.integers(0, 2))
    def all_die(self, dead: list[int], lost: int) -> None:
        """The power fails; they come back in the other order."""
        self.die(dead)
        for broker_id in reversed(dead):
            self.restart(broker_id, lost)

    @rule(broker_id=broker_ids, lost=st.integers(0, 2))
    def restart(self, broker_id: int, lost: int) -> None:
        """It comes back, perhaps without the end of its logs; then it cannot say that it was
        stopped cleanly.  (Without eligible replicas nothing protects from that.)"""
        old = self.image.brokers.get(broker_id)
        lost = lost if self.elr else 0
        if lost:
            for index in PARTITIONS:
                del self.log(index, broker_id)[-lost:]
        self.incarnation += 1
        response = self.ask(
            BrokerRegistrationRequest(
                broker_id=broker_id,
                cluster_id=CLUSTER,
                incarnation_id=self.incarnation.to_bytes(16, "big"),
                listeners=[Listener(name="IN", host="h", port=9)],
                features=[
                    Feature(name=n, min_supported_version=v.min, max_supported_version=v.max)
                    for n, v in SUPPORTED.items()
                ],
                log_dirs=[bytes([broker_id]) * 16],
                previous_broker_epoch=-1 if old is None or lost else old.epoch,
            )
        )
        assert response.error_code == 0
        self.beat(broker_id)
        assert self.is_up(broker_id)

    def beat(self, broker_id: int, **wishes: bool) -> Any:
        return self.ask(
            BrokerHeartbeatRequest(
                broker_id=broker_id,
                broker_epoch=self.image.brokers[broker_id].epoch,
                current_metadata_offset=self.image.applied_offset,
                **wishes,
            )
        )

    @rule(broker_id=broker_ids)
    def is_stopped(self, broker_id: int) -> None:
        if not self.is_up(broker_id):
            return
        self.beat(broker_id, want_shut_down=True)
        self.env.sessions.start_leaving(broker_id, self.image.applied_offset)
        assert self.beat(broker_id, want_shut_down=True).should_shut_down
        self.env.sessions.forget(broker_id)

    @rule(broker_id=broker_ids)
    def is_forgotten(self, broker_id: int) -> None:
        self.ask(UnregisterBrokerRequest(broker_id=broker_id))
        assert broker_id not in self.image.brokers

    # Data

    @rule(index=indexes)
    def produce(self, index: int) -> None:
        leader = self.partition(index).leader
        if leader >= 0:
            self.records += 1
            self.log(index, leader).append(self.records)
            self.advance(index)

    @rule(index=indexes)
    def produce_and_copy(self, index: int) -> None:
        """As it is most of the time: everybody in sync has it at once."""
        self.produce(index)
        for broker_id in self.partition(index).isr:
            self.fetch(index, broker_id, 0)

    @rule(index=indexes)
    def catch_up(self, index: int) -> None:
        """All that are there."""
        for broker_id in self.partition(index).replicas:
            self.fetch(index, broker_id, 0)
            self.catches_up(index, broker_id)

    @rule(index=indexes, broker_id=broker_ids, behind=st.integers(0, 1))
    def fetch(self, index: int, broker_id: int, behind: int) -> None:
        """Truncate to what the leader has too, then copy, all or nearly all."""
        partition = self.partition(index)
        if partition.leader < 0 or broker_id not in partition.replicas:
            return
        if broker_id != partition.leader and self.is_up(broker_id):
            leaders = self.log(index, partition.leader)
            kept = common([leaders, self.log(index, broker_id)])
            wanted = leaders[: len(leaders) - behind]
            self.logs[index, broker_id] = list(max(kept, wanted, key=len))
            self.advance(index)

    @rule(index=indexes, broker_id=broker_ids)
    def falls_behind(self, index: int, broker_id: int) -> None:
        partition = self.partition(index)
        self.alter(index, [r for r in partition.isr if r != broker_id])

    @rule(index=indexes, broker_id=broker_ids)
    def catches_up(self, index: int, broker_id: int) -> None:
        partition = self.partition(index)
        if partition.leader < 0 or broker_id not in partition.replicas:
            return
        if broker_id not in self.image.brokers:
            return  # who is not registered does not fetch
        if self.log(index, broker_id) == self.log(index, partition.leader):
            self.alter(index, [*dict.fromkeys((*partition.isr, broker_id))])

    def alter(self, index: int, isr: list[int]) -> None:
        partition = self.partition(index)
        if partition.leader < 0:
            return
        brokers = self.image.brokers
        data = ap.RequestPartitionData(
            partition_index=index,
            leader_epoch=partition.leader_epoch,
            partition_epoch=partition.partition_epoch,
            new_isr_with_epochs=[
                ap.BrokerState(broker_id=i, broker_epoch=brokers[i].epoch) for i in isr
            ],
        )
        topic_id = self.image.topics["t"].id
        self.vouched_for = isr
        self.ask(
            ap.AlterPartitionRequest(
                broker_id=partition.leader,
                broker_epoch=brokers[partition.leader].epoch,
                topics=[ap.RequestTopicData(topic_id=topic_id, partitions=[data])],
            )
        )
        self.vouched_for = []

    # What people ask for

    @rule(index=indexes, wanted=st.none() | st.lists(broker_ids, min_size=1, unique=True))
    def reassign(self, index: int, wanted: list[int] | None) -> None:
        partition = ReassignablePartition(partition_index=index, replicas=wanted)
        response = self.ask(
            AlterPartitionReassignmentsRequest(
                topics=[ReassignableTopic(name="t", partitions=[partition])]
            )
        )
        if wanted is not None and self.image.brokers.keys() >= set(wanted):
            assert response.responses[0].partitions[0].error_code == 0
            moving = self.partition(index)
            assert [r for r in moving.replicas if r not in moving.removing] == wanted

    @rule(index=indexes, kind=st.integers(0, 1))
    def elect(self, index: int, kind: int) -> None:
        topics = [TopicPartitions(topic="t", partitions=[index])]
        self.ask(ElectLeadersRequest(election_type=kind, topic_partitions=topics))

    @rule()
    def rebalance(self) -> None:
        self.commit(decide_preferred(self.image, self.env))

    @rule(allowed=st.booleans())
    def allow_unclean(self, allowed: bool) -> None:
        name, text = "unclean.leader.election.enable", str(allowed).lower()
        change = iac.AlterableConfig(name=name, config_operation=0, value=text)
        resource = iac.AlterConfigsResource(resource_type=2, resource_name="t", configs=[change])
        self.ask(iac.IncrementalAlterConfigsRequest(resources=[resource]))

    # What always holds

    @invariant()
    def partitions_make_sense(self) -> None:
        active = {broker.id for broker in self.image.active_brokers()}
        for index in PARTITIONS:
            p = self.partition(index)
            replicas = set(p.replicas)
            assert len(replicas) == len(p.replicas)
            assert {*p.isr, *p.adding, *p.removing, *p.elr} <= replicas
            assert not set(p.adding) & set(p.removing)
            assert not set(p.isr) & set(p.elr)
            assert p.leader == -1 or p.leader in active & set(p.isr)
            if not self.elr:
                assert p.isr
                assert not p.elr
            if p.leader == -1:
                assert not active & set(p.isr or p.elr), "somebody safe could lead"

    @invariant()
    def nothing_committed_is_lost(self) -> None:
        for index in PARTITIONS:
            p = self.partition(index)
            committed = self.committed[index]
            for broker_id in (*p.isr, *p.elr):
                held = self.log(index, broker_id)[: len(committed)]
                assert held == committed, f"{index}: {broker_id} of {p.isr} {p.elr} lacks records"

    def teardown(self) -> None:
        """When all is well again every move ends; who replays the journal has the same image."""
        if not hasattr(self, "committed") or "t" not in self.image.topics:
            return
        for broker_id in BROKERS:
            self.restart(broker_id, 0)
        for index in PARTITIONS:
            self.elect(index, 1)
            self.catch_up(index)
            self.catch_up(index)  # the end of a move may elect another leader
            partition = self.partition(index)
            assert (partition.adding, partition.removing) == ((), ())
            assert set(partition.isr) == set(partition.replicas)
        copy = ClusterImage(CLUSTER)
        for run in self.journal:
            copy.replay_run(run, offset=copy.applied_offset + len(run), epoch=1)
        assert copy == self.image


def common(logs: list[list[int]]) -> list[int]:
    """The longest beginning that all have."""
    shared = []
    for records in zip(*logs, strict=False):
        if len(set(records)) > 1:
            break
        shared.append(records[0])
    return shared


TestReplicas = Replicas.TestCase
TestReplicas.settings = settings(max_examples=200, stateful_step_count=30, deadline=None)


# The model itself


def forgets_who_lost(
    goal: PartitionImage, old: PartitionImage, *, min_isr: int, lost: int
) -> PartitionImage:
    return with_eligible(goal, old, min_isr=min_isr, lost=-1)


def keeps_one_too_many(
    goal: PartitionImage, old: PartitionImage, *, min_isr: int, lost: int
) -> PartitionImage:
    return with_eligible(goal, old, min_isr=min_isr + 1, lost=lost)


def ends_moves_too_early(goal: PartitionImage) -> PartitionImage:
    moving = goal.adding or goal.removing
    return finished(replace(goal, isr=goal.replicas) if moving else goal)


@pytest.mark.parametrize(
    ("step", "planted"),
    [
        ("with_eligible", forgets_who_lost),
        ("with_eligible", keeps_one_too_many),
        ("finished", ends_moves_too_early),
    ],
)
def test_a_planted_bug_is_caught(
    step: str, planted: Callable[..., PartitionImage], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(elections, step, planted)
    same_each_time = settings(
        TestReplicas.settings,
        max_examples=2_000,  # it stops at the first that fails
        derandomize=True,
        database=None,
        phases=[Phase.generate],
    )

    with pytest.raises(AssertionError):
        run_state_machine_as_test(Replicas, settings=same_each_time)
