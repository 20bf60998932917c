"""The short way of heartbeats gives the answers that the long way gives.

It begins with the third of a connection, so a broker that gets every heartbeat on a connection of
its own always takes the long one.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wired_broker import Client
from wired_groups import WiredGroups

from barnabas.base.errors import ErrorCode
from barnabas.broker.groups import OFFSETS_TOPIC
from barnabas.broker.net import memo
from barnabas.controller.image_types import ResourceType
from barnabas.coordinator.group.consumer import steady
from barnabas.coordinator.group.consumer.answers import Unchanged
from barnabas.coordinator.group.events import TopicsChanged
from barnabas.protocol.apis import ApiKey, api
from barnabas.protocol.framing import encode_request_header, read_response_header
from barnabas.protocol.message import Message
from barnabas.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from barnabas.protocol.messages.delete_groups import DeleteGroupsRequest
from barnabas.protocol.messages.heartbeat import HeartbeatRequest
from barnabas.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from barnabas.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from barnabas.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

SUBSCRIBED = struct.pack(">hih1sii", 1, 1, 1, b"t", -1, 0)
"""To topic `t`, as a classic consumer says it."""


def frame(request: Message, version: int, correlation_id: int, client_id: str = "me") -> bytes:
    described = api(ApiKey(request.api_key))
    header = encode_request_header(described, version, correlation_id, client_id)
    return header + request.encode(version)


def ask(world: WiredGroups, client: Client, request: Message, version: int, number: int = 7) -> Any:
    """The answer, and that it has the number of what was asked."""
    client.send(frame(request, version, number))
    world.run_turn()
    (answer,) = client.answers()
    described = api(ApiKey(request.api_key))
    correlation_id, at = read_response_header(answer, described, version)
    assert correlation_id == number
    return described.response.decode(answer, version, at)


def join(member: str, names: list[str] | None = None) -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id=member,
        member_epoch=0,
        rebalance_timeout_ms=1000,
        subscribed_topic_names=["t"] if names is None else names,
        topic_partitions=[],
    )


def beat(member: str, epoch: int, **news: Any) -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(
        group_id="g", member_id=member, member_epoch=epoch, topic_partitions=None, **news
    )


@pytest.fixture
def world(tmp_path: Path) -> Iterator[WiredGroups]:
    made = WiredGroups(tmp_path)
    yield made
    made.close()


steps = st.one_of(
    st.tuples(st.just("beat"), st.sampled_from("ab"), st.sampled_from([0, 0, 0, 0, -1, 1])),
    st.tuples(st.just("beat"), st.sampled_from("ab"), st.just(0)),
    st.tuples(st.just("own"), st.sampled_from("ab"), st.just(0)),
    st.tuples(st.sampled_from(["join", "leave"]), st.sampled_from("abc"), st.just(0)),
    st.tuples(st.just("all beat"), st.just(""), st.just(0)),
)
"""A heartbeat with the member's epoch or one beside it, or with what it was told to have, ...
or those of all in one turn, when a new assignment may be made."""


@given(st.lists(steps, max_size=25), st.sets(st.integers(0, 45)))
def test_both_ways_give_the_same_answers(
    script: list[tuple[str, str, int]], together: set[int]
) -> None:
    """After the steps in `together` no turn ends."""
    with TemporaryDirectory() as one, TemporaryDirectory() as other:
        short, long = WiredGroups(Path(one)), WiredGroups(Path(other))
        try:
            got = Play(short, apart=False).run(script, together)
            assert got == Play(long, apart=True).run(script, together)
            assert short.offsets() == long.offsets()
            assert sessions(short) == sessions(long)
            assert short.offsets() == short.offsets(short.coordinator())
        finally:
            short.close()
            long.close()


def sessions(world: WiredGroups) -> list[dict[Any, int]]:
    """When who is removed if it is not heard of."""
    shards: list[Any] = [world.groups.runtime.shard(index) for index in range(2)]
    return [dict(shard.state.timers._due) for shard in shards]


class Play:
    """Five members; each has a connection, or, if `apart`, each of their requests."""

    def __init__(self, world: WiredGroups, *, apart: bool) -> None:
        self._world = world
        self._apart = apart
        self._clients = {member: world.connect() for member in "abcde"}
        self._epochs = dict.fromkeys("abcde", 0)
        self._owned: dict[str, Any] = dict.fromkeys("abcde", None)
        self._asked: list[tuple[str, Client]] = []
        self._told: list[tuple[int, Any]] = []

    def run(self, script: list[tuple[str, str, int]], together: set[int]) -> list[tuple[int, Any]]:
        """The answers with their numbers.  Four members are there before the script begins."""
        begin = [(what, member, 0) for what in ("join", *["beat"] * 3) for member in "abde"]
        for number, (what, member, beside) in enumerate([*begin, *script]):
            if what == "all beat":
                self._all_beat(number)
            else:
                self._ask(number, what, member, beside)
            if number not in together:
                self._end_turn()
        self._end_turn()
        return self._told

    def _all_beat(self, number: int) -> None:
        self._end_turn()
        self._world.loop.advance(1.1)
        for member, epoch in self._epochs.items():
            if epoch > 0:
                self._ask(number, "beat", member, 0)

    def _ask(self, number: int, what: str, member: str, beside: int) -> None:
        epoch = self._epochs[member]
        request = {
            "join": join(member),
            "leave": beat(member, -1),
            "beat": beat(member, epoch + beside),
            "own": beat(member, epoch),
        }[what]
        if what == "own" and self._owned[member] is not None:
            request.topic_partitions = self._owned[member].topic_partitions
        if self._apart:
            self._clients[member] = self._world.connect()
        client = self._clients[member]
        client.send(frame(request, 1, number))
        self._asked.append((member, client))

    def _end_turn(self) -> None:
        self._world.run_turn()
        asked, self._asked = self._asked, []
        answers = {client: client.answers() for client in {client for _, client in asked}}
        for member, client in asked:
            self._hear(member, answers[client].pop(0))
        assert not any(answers.values()), "one answer to each"
        self._world.loop.advance(0.3)

    def _hear(self, member: str, answer: bytes) -> None:
        described = api(ApiKey.CONSUMER_GROUP_HEARTBEAT)
        number, at = read_response_header(answer, described, 1)
        told: Any = described.response.decode(answer, 1, at)
        if told.error_code == ErrorCode.NONE and told.member_epoch >= 0:
            self._epochs[member] = told.member_epoch
            self._owned[member] = told.assignment or self._owned[member]
        self._told.append((number, told))


def test_the_third_of_a_kind_takes_the_short_way(
    world: WiredGroups, short_ways: list[bool]
) -> None:
    client = world.connect()
    epoch = ask(world, client, join("m"), 1).member_epoch
    ask(world, client, beat("m", epoch), 1)
    assert short_ways == []
    told = [ask(world, client, beat("m", epoch), 1, number) for number in range(4)]
    assert short_ways == [True] * 3
    assert [one.member_epoch for one in told] == [epoch] * 4


def test_members_that_keep_what_they_have_join_a_batch(
    world: WiredGroups, short_ways: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """When one without partitions leaves, the others move to the next epoch, all in one batch."""
    joined = []
    real = steady.join

    def noted(*about: Any, **more: Any) -> Unchanged | None:
        joined.append(real(*about, **more))
        return joined[-1]

    monkeypatch.setattr(steady, "join", noted)
    names = "abcde"
    clients = {name: world.connect() for name in names}
    for name in (*names, "leaver"):
        ask(world, clients.get(name) or world.connect(), join(name), 1)
        world.loop.advance(1.1)
    epochs = dict.fromkeys(names, 0)
    for _ in range(5):
        for name in names:
            known = beat(name, epochs[name]) if epochs[name] else join(name)
            epochs[name] = ask(world, clients[name], known, 1).member_epoch
    assert len(set(epochs.values())) == 1
    ask(world, world.connect(), beat("leaver", -1), 1)
    world.loop.advance(1.1)
    joined.clear()
    short_ways.clear()
    world.run_turn()
    before = written(world)

    for name in names:
        clients[name].send(frame(beat(name, epochs[name]), 1, 5))
    world.run_turn()

    told = [client.answers() for client in clients.values()]
    assert short_ways == [True] * 5
    next_epoch = max(epochs.values()) + 1
    assert [reply and reply.epoch for reply in joined] == [next_epoch] * 4  # the first begins it
    described = api(ApiKey.CONSUMER_GROUP_HEARTBEAT)
    for name, (answer,) in zip(names, told, strict=True):
        response: Any = described.response.decode(answer, 1, 5)
        assert (response.member_id, response.member_epoch) == (name, next_epoch)
    assert written(world) - before == 6, "the target and five members"
    assert world.offsets() == world.offsets(world.coordinator())
    for timers in sessions(world):
        for (kind, _, _), due in timers.items():
            assert kind != "session" or due == world.groups.now_ms() + 45_000


def written(world: WiredGroups) -> int:
    """Records of the coordinator."""
    return sum(world.partition(OFFSETS_TOPIC, index).log.end_offset for index in range(2))


def test_an_assignment_is_not_kept(world: WiredGroups, short_ways: list[bool]) -> None:
    """It may be long, and there are many connections."""
    client = world.connect()
    epoch = ask(world, client, join("m", ["t", "more"]), 1).member_epoch
    for _ in range(3):
        epoch = ask(world, client, beat("m", epoch), 1).member_epoch
    world.topic("more", 2)
    world.loop.advance(1.1)
    world.groups.runtime.broadcast(
        TopicsChanged(changed=frozenset({"more"})), now_ms=world.groups.now_ms()
    )
    answer = ask(world, client, beat("m", epoch), 1)
    assert len(answer.assignment.topic_partitions) == 2
    assert short_ways == [True, True]
    kept = client.connection.habits[ApiKey.CONSUMER_GROUP_HEARTBEAT].memo
    assert kept is not None
    assert kept._answers._last is None


@pytest.mark.parametrize("version", [0, 1])
def test_every_version_is_answered_with_the_bytes_of_the_long_way(
    world: WiredGroups, short_ways: list[bool], version: int
) -> None:
    client = world.connect()
    client.send(frame(join("m"), version, 0))
    world.run_turn()
    (first,) = client.answers()
    _, at = read_response_header(first, api(ApiKey.CONSUMER_GROUP_HEARTBEAT), version)
    told: Any = api(ApiKey.CONSUMER_GROUP_HEARTBEAT).response.decode(first, version, at)
    answers = []
    for connection in (*[client] * 4, world.connect()):
        connection.send(frame(beat("m", told.member_epoch), version, -5))
        world.run_turn()
        answers += connection.answers()
    assert short_ways == [True, True]
    assert answers == [answers[-1]] * 5


def test_the_pause_and_the_session_may_change(world: WiredGroups, short_ways: list[bool]) -> None:
    client = world.connect()
    epoch = ask(world, client, join("m"), 1).member_epoch
    pauses = [ask(world, client, beat("m", epoch), 1).heartbeat_interval_ms for _ in range(4)]
    world.broker.image.configs[ResourceType.GROUP, "g"] = {
        "consumer.heartbeat.interval.ms": "7000",
        "consumer.session.timeout.ms": "60000",
    }
    assert ask(world, client, beat("m", epoch), 1).heartbeat_interval_ms == 7000
    world.loop.advance(59.9)
    assert ask(world, client, beat("m", epoch), 1).error_code == ErrorCode.NONE
    world.loop.advance(60.1)
    assert ask(world, client, beat("m", epoch), 1).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert pauses == [5000] * 4
    assert short_ways == [True] * 5


def test_topics_may_come_and_go(world: WiredGroups, short_ways: list[bool]) -> None:
    client = world.connect()
    epoch = ask(world, client, join("m"), 1).member_epoch
    for _ in range(2):
        ask(world, client, beat("m", epoch), 1)
    world.topic("new", 1)
    assert ask(world, client, beat("m", epoch), 1).error_code == ErrorCode.NONE
    assert short_ways == [True]


def test_heartbeats_with_news_take_the_long_way(world: WiredGroups, short_ways: list[bool]) -> None:
    world.topic("u", 2)
    client = world.connect()
    epoch = ask(world, client, join("m"), 1).member_epoch
    for _ in range(3):
        answer = ask(world, client, beat("m", epoch, subscribed_topic_names=["t"]), 1)
        epoch = answer.member_epoch
    assert short_ways == []


def test_another_client_on_the_connection_is_not_mistaken(
    world: WiredGroups, short_ways: list[bool]
) -> None:
    client = world.connect()
    epoch, epoch_of_other = (ask(world, client, join(name), 1).member_epoch for name in "ab")
    for _ in range(3):
        epoch = ask(world, client, beat("a", epoch), 1).member_epoch
    assert short_ways == [True]
    told = ask(world, client, beat("b", epoch_of_other), 1)
    client.send(frame(beat("a", epoch), 1, 9, client_id="it"))
    world.run_turn()
    assert short_ways == [True, False, False]
    assert told.member_id == "b"
    assert len(client.answers()) == 1


def test_a_member_that_is_gone_is_told_so(world: WiredGroups, short_ways: list[bool]) -> None:
    client = world.connect()
    epoch = ask(world, client, join("m"), 1).member_epoch
    for _ in range(3):
        ask(world, client, beat("m", epoch), 1)
    ask(world, world.connect(), beat("m", -1), 1)
    answer = ask(world, client, beat("m", epoch), 1)
    assert short_ways[-1]
    assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_coordinator_that_is_one_no_more_refuses(
    world: WiredGroups, short_ways: list[bool]
) -> None:
    client = world.connect()
    epoch = ask(world, client, join("m"), 1).member_epoch
    for _ in range(3):
        ask(world, client, beat("m", epoch), 1)
    for index in range(2):
        world.groups.runtime.unload(index)
    assert ask(world, client, beat("m", epoch), 1).error_code == ErrorCode.NOT_COORDINATOR
    assert short_ways == [True, True]


def test_a_name_as_long_as_can_be_may_stand_in_a_refusal(
    world: WiredGroups, short_ways: list[bool]
) -> None:
    def static(member: str) -> ConsumerGroupHeartbeatRequest:
        request = join(member)
        request.instance_id = "i"
        return request

    client = world.connect()
    epoch = ask(world, client, static("m"), 1).member_epoch
    for _ in range(3):
        ask(world, client, beat("m", epoch, instance_id="i"), 1)
    ask(world, world.connect(), beat("m", -2, instance_id="i"), 1)
    assert ask(world, world.connect(), static("x" * 32_760), 1).error_code == ErrorCode.NONE

    answer = ask(world, client, beat("m", epoch, instance_id="i"), 1)

    assert short_ways[-1]
    assert answer.error_code == ErrorCode.FENCED_INSTANCE_ID
    assert len(answer.error_message) == 1_000


def test_an_answer_that_cannot_be_written_ends_its_connection(
    world: WiredGroups, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, other = world.connect(), world.connect()
    epoch = ask(world, client, join("m"), 1).member_epoch
    for _ in range(2):
        ask(world, client, beat("m", epoch), 1)
    ask(world, other, join("n"), 1)

    def broken(*_: object) -> None:
        raise ValueError("no")

    monkeypatch.setattr(memo, "encoded", broken)
    client.send(frame(beat("m", epoch), 1, 50))
    client.send(frame(beat("m", epoch), 1, 51))
    world.run_turn()

    assert client.is_closed
    assert client.answers() == []
    assert not other.is_closed


def test_who_has_a_quota_takes_the_long_way(world: WiredGroups, short_ways: list[bool]) -> None:
    """Whoever else spoke on the connection meanwhile."""
    client = world.connect()
    epoch = ask(world, client, join("m"), 1).member_epoch
    for _ in range(3):
        ask(world, client, beat("m", epoch), 1)
    assert short_ways == [True]
    quotas: Any = world.broker.quotas
    quotas.apply({(("client-id", "me"),): {"request_percentage": 1000.0}})

    ask(world, client, beat("m", epoch), 1)
    client.send(frame(beat("m", epoch), 1, 9, client_id="free"))
    world.run_turn()
    client.answers()
    ask(world, client, beat("m", epoch), 1)

    assert short_ways == [True]


# The classic protocol


def classic_join(metadata: bytes = b"", instance_id: str | None = None) -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id="g",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        group_instance_id=instance_id,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=metadata)],
    )


def classic_member(world: WiredGroups, client: Client) -> tuple[str, int]:
    """Its id, and the generation in which it is alone."""
    request = classic_join()
    request.member_id = ask(world, client, request, 9).member_id
    client.send(frame(request, 9, 1))
    world.loop.advance(10)
    world.run_turn()
    (answer,) = client.answers()
    joined = api(ApiKey.JOIN_GROUP).response.decode(answer, 9, 5)
    sync = SyncGroupRequest(
        group_id="g",
        generation_id=joined.generation_id,  # type: ignore[attr-defined]
        member_id=request.member_id,
        protocol_type="consumer",
        protocol_name="range",
        assignments=[SyncGroupRequestAssignment(member_id=request.member_id, assignment=b"x")],
    )
    assert ask(world, client, sync, 5).error_code == ErrorCode.NONE
    return request.member_id, sync.generation_id


def test_a_classic_member_learns_what_it_would_learn_the_long_way(
    world: WiredGroups, short_ways: list[bool]
) -> None:
    client = world.connect()
    member_id, generation = classic_member(world, client)

    def beats(generation_id: int) -> tuple[int, int]:
        """Of the same heartbeat on its connection and on another."""
        request = HeartbeatRequest(group_id="g", generation_id=generation_id, member_id=member_id)
        return (
            ask(world, client, request, 4, generation_id).error_code,
            ask(world, world.connect(), request, 4).error_code,
        )

    assert [beats(generation) for _ in range(3)] == [(0, 0)] * 3
    assert beats(generation + 1) == (ErrorCode.ILLEGAL_GENERATION,) * 2
    other = classic_join()
    joining = world.connect()
    other.member_id = ask(world, joining, other, 9).member_id
    joining.send(frame(other, 9, 1))
    world.run_turn()
    assert beats(generation) == (ErrorCode.REBALANCE_IN_PROGRESS,) * 2
    assert short_ways == [True] * 3


def test_a_classic_member_of_a_consumer_group_learns_the_same(
    world: WiredGroups, short_ways: list[bool]
) -> None:
    client = world.connect()
    request = classic_join(SUBSCRIBED)
    ask(world, world.connect(), join("modern"), 1)
    request.member_id = ask(world, client, request, 9).member_id
    joined = ask(world, client, request, 9)
    assert joined.error_code == ErrorCode.NONE

    def beat_on(connection: Client) -> int:
        alive = HeartbeatRequest(
            group_id="g", generation_id=joined.generation_id, member_id=request.member_id
        )
        code: int = ask(world, connection, alive, 4).error_code
        return code

    codes = [(beat_on(client), beat_on(world.connect())) for _ in range(4)]
    assert short_ways == [True, True]
    assert all(one == other for one, other in codes)


@pytest.mark.parametrize("version", range(5))
def test_every_version_of_a_classic_heartbeat_is_answered_with_the_bytes_of_the_long_way(
    world: WiredGroups, short_ways: list[bool], version: int
) -> None:
    """On two connections at once, which hear different things in turn."""
    clients = [world.connect() for _ in range(2)]
    member_id, generation = classic_member(world, clients[0])

    def answer(client: Client, generation_id: int) -> bytes:
        alive = HeartbeatRequest(group_id="g", generation_id=generation_id, member_id=member_id)
        client.send(frame(alive, version, -generation_id))
        world.run_turn()
        (found,) = client.answers()
        return found

    for _ in range(4):
        for client, generation_id in zip(clients, (generation, generation + 1), strict=True):
            assert answer(client, generation_id) == answer(world.connect(), generation_id)
    assert short_ways == [True] * 4


def test_a_static_classic_member_that_was_replaced_is_fenced_the_short_way(
    world: WiredGroups, short_ways: list[bool]
) -> None:
    client = world.connect()
    client.send(frame(classic_join(instance_id="i"), 9, 1))
    world.loop.advance(10)
    world.run_turn()
    (answer,) = client.answers()
    joined: Any = api(ApiKey.JOIN_GROUP).response.decode(answer, 9, 5)
    alive = HeartbeatRequest(
        group_id="g",
        generation_id=joined.generation_id,
        member_id=joined.member_id,
        group_instance_id="i",
    )
    codes = [ask(world, client, alive, 4).error_code for _ in range(3)]
    world.connect().send(frame(classic_join(instance_id="i"), 9, 1))
    world.run_turn()

    assert ask(world, client, alive, 4).error_code == ErrorCode.FENCED_INSTANCE_ID
    assert codes == [ErrorCode.NONE] * 3
    assert short_ways == [True, True]


def test_a_classic_group_that_is_gone_has_no_members(
    world: WiredGroups, short_ways: list[bool]
) -> None:
    client = world.connect()
    member_id, generation = classic_member(world, client)
    alive = HeartbeatRequest(group_id="g", generation_id=generation, member_id=member_id)
    codes = [ask(world, client, alive, 4).error_code for _ in range(3)]
    leave = LeaveGroupRequest(group_id="g", members=[MemberIdentity(member_id=member_id)])
    ask(world, client, leave, 5)
    (deleted,) = ask(world, client, DeleteGroupsRequest(groups_names=["g"]), 2).results

    assert deleted.error_code == ErrorCode.NONE
    assert ask(world, client, alive, 4).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert codes == [ErrorCode.NONE] * 3
    assert short_ways == [True, True]
