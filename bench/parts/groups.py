"""(h) Groups: what a heartbeat and a commit cost the broker, and how long a rebalance takes."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from statistics import median

from crowd import BadAnswerError, Crowd, decoded, encoded
from harness.brokers import Broker
from harness.processes import rss_bytes
from members import VERSIONS, ClassicMember, ConsumerMember, Member, Members
from session import CpuMeter, Session

from barnabas.protocol.message import Message
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.protocol.messages.offset_commit import OffsetCommitRequest

NAME = "groups"
HEARTBEATS, COMMITS = 30_000, 20_000
WARM_UP_REQUESTS = 10_000
FIND_VERSION = 4
COORDINATOR_S = 60
WARM_UP_REBALANCES = 60
"""A member comes and goes so often before anything counts (in a quick run less): a JVM still gets
faster after forty."""
REBALANCES = 7
"""In a round: a single one depends on where in their pause between heartbeats the members are."""
ASSIGNMENT_INTERVAL_S = 1.1
"""Longer than brokers wait between two assignments of a group unless they are told otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """So many groups of so many members, on a topic with so many partitions."""

    title: str
    protocol: str
    groups: int
    members: int
    partitions: int

    @property
    def has_rebalances(self) -> bool:
        return self.members > 1


SHAPES = tuple(
    Shape(
        title=f"{title}, {protocol} protocol",
        protocol=protocol,
        groups=groups,
        members=members,
        partitions=partitions,
    )
    for title, groups, members, partitions in (
        ("1,000 groups of 1 member", 1_000, 1, 1),
        ("1 group of 300 members", 1, 300, 600),
    )
    for protocol in ("classic", "consumer")
)


def run(session: Session) -> None:
    gc.disable()  # the members' program shares the machine with the broker, and has no cycles
    try:
        _run(session)
    finally:
        gc.enable()


def _run(session: Session) -> None:
    able = [target for target in session.targets if target.has_groups]
    with session.all_running() as brokers:
        for target in able:
            await_coordinator(brokers[target.name])
        topics = {
            (target.name, count): target.new_topic(brokers[target.name], count)
            for target in able
            for count in {shape.partitions for shape in SHAPES}
        }
        for shape in SHAPES:
            for target in able:
                topic = topics[target.name, shape.partitions]
                session.warm_up(partial(cost, shape, brokers[target.name], topic))
                if shape.has_rebalances:
                    warm_up_rebalances(session, shape, brokers[target.name], topic)
            for number, target in session.in_turn():
                if target in able:
                    topic = topics[target.name, shape.partitions]
                    action = partial(measure, session, shape, brokers[target.name], topic)
                    session.take(number, target, (NAME, shape.title), action)


def await_coordinator(broker: Broker) -> None:
    """The first who asks for a coordinator has the topic of groups made."""
    request = FindCoordinatorRequest(key_type=0, coordinator_keys=["bench"])
    crowd = Crowd(broker.bootstrap, 1)
    deadline = time.monotonic() + COORDINATOR_S
    try:
        while time.monotonic() < deadline:
            answer = crowd.ask({0: encoded(request, FIND_VERSION)})[0]
            told = decoded(answer, FindCoordinatorRequest, FIND_VERSION)
            if told.coordinators[0].error_code == 0:
                return
            time.sleep(0.1)
    finally:
        crowd.close()
    raise BadAnswerError("there is no coordinator")


@contextmanager
def joined(shape: Shape, broker: Broker, topic: str) -> Iterator[Members]:
    """New groups of that shape, stable, with one connection to spare; all members leave."""
    size = shape.groups * shape.members
    name = os.urandom(4).hex()
    crowd = Crowd(broker.bootstrap, size + 1)
    try:
        members = Members(crowd, shape.partitions)
        for index in range(size):
            members.arrive(index, new_member(shape, f"{name}-{index // shape.members}", topic))
        members.settle()
        yield members
        for index in list(members.members):
            members.depart(index)
    finally:
        crowd.close()


def new_member(shape: Shape, group_id: str, topic: str) -> Member:
    if shape.protocol == "classic":
        return ClassicMember(group_id, topic, shape.partitions)
    return ConsumerMember(group_id, topic, os.urandom(11).hex())


def cost(shape: Shape, broker: Broker, topic: str) -> float:
    """For warming up: CPU time of some heartbeats and commits."""
    with joined(shape, broker, topic) as members:
        beats = cpu_us(broker, members, "heartbeat", WARM_UP_REQUESTS)
        return beats + cpu_us(broker, members, "commit", WARM_UP_REQUESTS)


def warm_up_rebalances(session: Session, shape: Shape, broker: Broker, topic: str) -> None:
    """As in `rebalances`, unmeasured, and without pauses where the protocol needs none."""
    with joined(shape, broker, topic) as members:
        for _ in range(session.scale(WARM_UP_REBALANCES)):
            for _, act in comings_and_goings(shape, members, topic):
                if shape.protocol == "consumer":
                    time.sleep(ASSIGNMENT_INTERVAL_S)
                act()
                members.settle()


def comings_and_goings(
    shape: Shape, members: Members, topic: str
) -> tuple[tuple[str, Callable[[], None]], ...]:
    """What makes the group of all members rebalance twice, with names for it."""
    extra = len(members.crowd) - 1
    newcomer = new_member(shape, members.members[0].group_id, topic)
    return (
        ("join", partial(members.arrive, extra, newcomer)),
        ("leave", partial(members.depart, extra)),
    )


def measure(session: Session, shape: Shape, broker: Broker, topic: str) -> dict[str, float]:
    """The measured values by the names of their metrics."""
    with joined(shape, broker, topic) as members:
        found = {
            "beat_us": cpu_us(broker, members, "heartbeat", session.scale(HEARTBEATS)),
            "commit_us": cpu_us(broker, members, "commit", session.scale(COMMITS)),
        }
        if shape.has_rebalances:
            found |= rebalances(session, shape, broker, members, topic)
        found["groups_rss_mb"] = rss_bytes(broker.child.pid) / 1e6
        return found


def cpu_us(broker: Broker, members: Members, kind: str, count: int) -> float:
    """CPU microseconds of the broker for one heartbeat or commit, when all members send them."""
    crowd, requests = members.crowd, members.requests(kind)
    check = partial(check_answer, members.request_type(kind))
    with CpuMeter(broker) as cpu:
        crowd.repeat(requests, count, check)
    return cpu.seconds * 1e6 / (count + len(requests))


def check_answer(request: type[Message], answer: bytes) -> None:
    told = decoded(answer, request, VERSIONS[request])
    codes = (
        [p.error_code for topic in told.topics for p in topic.partitions]
        if request is OffsetCommitRequest
        else [told.error_code]
    )
    if any(codes) or not codes:
        raise BadAnswerError(f"{told!r}")


def rebalances(
    session: Session, shape: Shape, broker: Broker, members: Members, topic: str
) -> dict[str, float]:
    """A member joins the stable group, then leaves it: medians of the times until it is stable.

    How long that takes depends on which of the two programs runs where, and when both could.  So
    it is measured in several ways, and what counts is the one that is best for the broker at hand.
    """
    ways: dict[str, dict[str, float]] = {}
    for way, entered in WAYS.items():
        if way == "apart" and len(os.sched_getaffinity(0)) < 2:
            continue
        with entered(broker):
            ways[way] = _rebalances(session, shape, broker, members, topic)
    found: dict[str, float] = {}
    for name in ("join", "leave"):
        best = min(ways.values(), key=itemgetter(f"{name}_ms"))
        found |= {metric: best[metric] for metric in (f"{name}_ms", f"{name}_cpu_ms")}
        found |= {f"{name}_{way}_ms": times[f"{name}_ms"] for way, times in ways.items()}
    return found


@contextmanager
def shared(broker: Broker) -> Iterator[None]:
    """The members' program and the broker run where the kernel puts them.

    It often wakes a broker of one thread on the CPU of the members' program, where it waits though
    the other CPU is idle.
    """
    yield


@contextmanager
def batch(broker: Broker) -> Iterator[None]:
    """As a batch job, this program does not push the broker off its CPU when an answer comes."""
    os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


@contextmanager
def apart(broker: Broker) -> Iterator[None]:
    """This program has a CPU of its own, as members on other machines have; the broker the rest."""
    cpus = os.sched_getaffinity(0)
    own = {max(cpus)}
    try:
        os.sched_setaffinity(0, own)
        _keep_on(cpus - own, broker)
        yield
    finally:
        os.sched_setaffinity(0, cpus)
        _keep_on(cpus, broker)


def _keep_on(cpus: set[int], broker: Broker) -> None:
    """Let all threads of the broker run on these CPUs; those that it starts later inherit that."""
    for task in os.listdir(f"/proc/{broker.child.pid}/task"):
        with suppress(ProcessLookupError):  # a thread that has ended since
            os.sched_setaffinity(int(task), cpus)


WAYS = {"shared": shared, "batch": batch, "apart": apart}
"""By the names in the metrics, see `report.py`."""


def _rebalances(
    session: Session, shape: Shape, broker: Broker, members: Members, topic: str
) -> dict[str, float]:
    """One by one, a few times."""
    found: dict[str, list[float]] = {}
    for _ in range(session.scale(REBALANCES)):
        for name, act in comings_and_goings(shape, members, topic):
            members.prepare()
            time.sleep(ASSIGNMENT_INTERVAL_S)
            began = time.perf_counter()
            with CpuMeter(broker) as cpu:
                act()
                members.settle()
            found.setdefault(f"{name}_ms", []).append((time.perf_counter() - began) * 1e3)
            found.setdefault(f"{name}_cpu_ms", []).append(cpu.seconds * 1e3)
    return {metric: median(values) for metric, values in found.items()}
