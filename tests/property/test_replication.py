"""Replication under any order of events: nothing acknowledged is lost, all logs agree in the end.

Three brokers, one partition.  Metadata reaches each broker when it likes; leaders are deposed
without knowing it; followers fetch or do not.  Elections choose from the in-sync set, as the
controller does, so: whatever a client was told is written must be in the log of every leader that
follows, and the logs must be equal up to the high watermark.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from replica_set import ReplicaSet

from barnabas.base.errors import ApiError

BROKERS = st.sampled_from([1, 2, 3])


class Replication(RuleBasedStateMachine):
    """`waiting`: what was appended with acks=all and not acknowledged yet, by broker."""

    def __init__(self) -> None:
        super().__init__()
        self.path = Path(tempfile.mkdtemp(prefix="replication-"))
        self.set = ReplicaSet(self.path)
        self.count = 0
        self.waiting: list[tuple[int, int, int, bytes]] = []
        self.acknowledged: dict[int, bytes] = {}
        self.watermarks: dict[tuple[int, int], int] = {}

    def teardown(self) -> None:
        try:
            self.set.settle()
            self.check_promises()
            logs = [broker.entries() for broker in self.set.brokers.values()]
            assert logs[0] == logs[1] == logs[2], "replicas differ although all have caught up"
            assert self.set[self.set.leader].log.high_watermark == len(logs[0])
        finally:
            self.set.close()
            shutil.rmtree(self.path)

    @rule(node_id=BROKERS, size=st.integers(1, 3))
    def produce(self, node_id: int, size: int) -> None:
        """At whoever believes to lead."""
        broker = self.set[node_id]
        if not broker.p.is_leader:
            return
        self.count += 1
        values = [b"%d.%d" % (self.count, number) for number in range(size)]
        try:
            last = self.set.append(node_id, *values, acks=-1)
        except ApiError:
            return
        epoch = broker.p.leader_epoch
        for offset, value in zip(range(last - size + 1, last + 1), values, strict=True):
            self.waiting.append((node_id, epoch, offset, value))
        self._acknowledge()

    @rule(node_id=BROKERS, times=st.integers(1, 3))
    def copy(self, node_id: int, times: int) -> None:
        for _ in range(times):
            self.set.fetch(node_id)
        self._acknowledge()

    @rule(size=st.integers(1, 3))
    def a_quiet_moment(self, size: int) -> None:
        """Everybody hears, copies, and a record gets through: then there is something to lose."""
        self.set.tell_all()
        self.produce(self.set.leader, size)
        for _ in range(3):
            for node_id in self.set.brokers:
                self.set.fetch(node_id)
        self._acknowledge()

    @rule(node_id=BROKERS)
    def hear(self, node_id: int) -> None:
        self.set.tell(node_id)
        self._acknowledge()

    @rule()
    def hear_all(self) -> None:
        self.set.tell_all()
        self._acknowledge()

    @rule(data=st.data())
    def elect(self, data: st.DataObject) -> None:
        self.set.change(leader=data.draw(st.sampled_from(self.set.isr)))

    @rule(data=st.data())
    def fence(self, data: st.DataObject) -> None:
        """A broker is gone for the controller: out of the in-sync set, and no leader."""
        node_id = data.draw(st.sampled_from(self.set.isr))
        others = [each for each in self.set.isr if each != node_id]
        if others:
            if self.set.leader == node_id:
                self.set.change(leader=others[0], isr=others)
            else:
                self.set.change(isr=others)

    @rule(node_id=BROKERS, seconds=st.sampled_from([1.0, 20.0, 40.0]))
    def lag(self, node_id: int, seconds: float) -> None:
        self.set.pass_time(seconds)
        self.set.check_lag(node_id)

    @rule(node_id=BROKERS)
    def controller_answers(self, node_id: int) -> None:
        self.set.answer_isr(node_id)

    def _acknowledge(self) -> None:
        """Tell clients of what is replicated, as the produce handler does."""
        for each in list(self.waiting):
            node_id, epoch, offset, value = each
            partition = self.set[node_id].p
            if not partition.is_leader or partition.leader_epoch != epoch:
                self.waiting.remove(each)  # told that it may be lost
            elif partition.log is not None and partition.log.high_watermark > offset:
                self.waiting.remove(each)
                known = self.acknowledged.setdefault(offset, value)
                assert known == value, f"offset {offset} was given to two records"

    @invariant()
    def check_promises(self) -> None:
        leader = dict(self.set[self.set.leader].entries())
        for offset, value in self.acknowledged.items():
            assert leader.get(offset) == value, f"record {offset} is lost with the next leader"

    @invariant()
    def logs_agree_below_the_watermarks(self) -> None:
        brokers = list(self.set.brokers.values())
        logs = {each.node_id: dict(each.entries()) for each in brokers}
        for one in brokers:
            for other in brokers:
                common = min(one.log.high_watermark, other.log.high_watermark)
                for offset in range(common):
                    assert logs[one.node_id].get(offset) == logs[other.node_id].get(offset)

    @invariant()
    def watermarks_of_a_leader_never_go_back(self) -> None:
        for broker in self.set.brokers.values():
            key = broker.node_id, broker.p.leader_epoch
            if broker.p.is_leader:
                before = self.watermarks.get(key, 0)
                assert broker.log.high_watermark >= before
                self.watermarks[key] = broker.log.high_watermark


TestReplication = Replication.TestCase
TestReplication.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
