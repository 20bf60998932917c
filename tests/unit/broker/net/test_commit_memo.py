"""The short way of OffsetCommit gives the answers and the offsets that the long way gives.

The short way begins with the third commit of a connection, so a broker that gets every commit on a
connection of its own always takes the long one.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wire_client import encoded
from wired_broker import Client
from wired_groups import WiredGroups

from barnabas.base.errors import ErrorCode
from barnabas.broker.net import commit_memo
from barnabas.broker.net.habits import CHANCES, WORTH_IT
from barnabas.broker.net.memo import Memo
from barnabas.protocol.apis import ApiKey, api
from barnabas.protocol.framing import encode_request_header
from barnabas.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from barnabas.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)

NOBODY = -1
"""The generation of a group that has no members."""


class Commit(NamedTuple):
    version: int = 9
    client_id: str = "me"
    group: str = "g"
    generation: int = NOBODY
    topic: str = "t"
    offsets: tuple[tuple[int, int, int, str | None], ...] = ((0, 1, -1, ""),)
    """Partition, offset, leader epoch, metadata."""
    behind: bytes = b""
    """Bytes that do not belong to it."""
    member: str = ""
    instance: str | None = None

    def frame(self, correlation_id: int) -> bytes:
        request = OffsetCommitRequest(
            group_id=self.group,
            generation_id_or_member_epoch=self.generation,
            member_id=self.member,
            group_instance_id=self.instance,
            topics=[
                OffsetCommitRequestTopic(
                    name=self.topic,
                    partitions=[
                        OffsetCommitRequestPartition(
                            partition_index=index,
                            committed_offset=offset,
                            committed_leader_epoch=epoch,
                            committed_metadata=metadata,
                        )
                        for index, offset, epoch, metadata in self.offsets
                    ],
                )
            ],
        )
        described = api(ApiKey.OFFSET_COMMIT)
        header = encode_request_header(described, self.version, correlation_id, self.client_id)
        return header + request.encode(self.version) + self.behind


def answers(
    world: WiredGroups, commits: list[Commit], *, apart: bool, together: Collection[int] = ()
) -> list[bytes]:
    """`apart`: each on a connection of its own.  After those in `together` no turn ends."""
    clients: list[Client] = []
    found = []
    for number, commit in enumerate(commits):
        if not clients or apart:
            clients.append(world.connect())
        clients[-1].send(commit.frame(number))
        if number in together:
            continue
        world.run_turn()
        found += [answer for client in clients for answer in client.answers()]
    world.run_turn()
    return found + [answer for client in clients for answer in client.answers()]


offsets = st.tuples(
    st.integers(0, 3),
    st.integers(-1, 2**63 - 1) | st.integers(0, 3),
    st.integers(-1, 2),
    st.sampled_from([None, "", "m", "twelve bytes"]),
)
commits = st.builds(
    Commit,
    version=st.sampled_from([2, 5, 6, 7, 8, 9]),
    client_id=st.sampled_from(["me", "it"]),
    group=st.sampled_from(["g", "h"]),
    generation=st.sampled_from([NOBODY, NOBODY, NOBODY, 3]),
    topic=st.sampled_from(["t", "t", "t", "u"]),
    offsets=st.lists(offsets, max_size=3).map(tuple),
    behind=st.sampled_from([b"", b"", b"\0"]),
    member=st.just(""),
    instance=st.none(),
)


@settings(deadline=None)
@given(st.data())
def test_both_ways_give_the_same_answers_and_offsets(data: st.DataObject) -> None:
    """Most commits are like the one before, but for their numbers."""
    sent: list[Commit] = []
    for _ in range(data.draw(st.integers(2, 8))):
        if sent and data.draw(st.integers(0, 3)):
            numbers = st.tuples(st.integers(-1, 2**63 - 1), st.integers(-1, 2**31 - 1))
            again = [
                (index, *data.draw(numbers), metadata) for index, _, _, metadata in sent[-1].offsets
            ]
            sent.append(sent[-1]._replace(offsets=tuple(again)))
        else:
            sent.append(data.draw(commits))
    together = data.draw(st.sets(st.integers(0, 8)))
    with TemporaryDirectory() as one, TemporaryDirectory() as other:
        short, long = WiredGroups(Path(one)), WiredGroups(Path(other))
        try:
            got = answers(short, sent, apart=False, together=together)
            assert got == answers(long, sent, apart=True, together=together)
            assert short.offsets() == long.offsets()
            assert len(short.offsets()) == 2
            assert short.offsets() == short.offsets(short.coordinator())
        finally:
            short.close()
            long.close()


@pytest.fixture
def world(tmp_path: Path) -> WiredGroups:
    return WiredGroups(tmp_path)


def test_the_third_commit_of_a_kind_takes_the_short_way(
    world: WiredGroups, short_ways: list[bool]
) -> None:
    like = [Commit(offsets=((0, n, 0, ""), (2, 2 * n, 1, "m"))) for n in range(5)]
    got = answers(world, like, apart=False)
    world.close()
    assert short_ways == [True] * 3
    assert [answer[4:] for answer in got] == [got[0][4:]] * 5


def test_numbers_that_look_like_others_are_told_apart(
    world: WiredGroups, short_ways: list[bool]
) -> None:
    """Two partitions with numbers that are found in each other's places."""
    same = Commit(offsets=((0, 0, 0, ""), (0, 0, 0, ""), (1, 0, 0, "")))
    later = Commit(offsets=((0, 5, 1, ""), (0, 6, 2, ""), (1, 7, 3, "")))
    answers(world, [same, same, later], apart=False)
    found = world.offsets()
    world.close()
    assert short_ways == [True]
    committed = [group for shard in found for group in shard["offsets"].values()]  # type: ignore[index]
    assert [{key: value[:2] for key, value in group.items()} for group in committed] == [
        {("t", 0): (6, 2), ("t", 1): (7, 3)}
    ]


def test_a_partition_that_is_gone_is_refused(world: WiredGroups, short_ways: list[bool]) -> None:
    topic_id = world.topic("gone", 1)
    like = Commit(topic="gone")
    client = world.connect()
    for number in range(3):
        client.send(like.frame(number))
        world.run_turn()
    accepted = client.answers()
    world.delete(topic_id)
    client.send(like.frame(3))
    world.run_turn()
    (refused,) = client.answers()
    world.close()
    assert short_ways == [True, False]
    assert len(accepted) == 3
    assert refused[4:] != accepted[-1][4:]


def test_other_topics_may_come_and_go(world: WiredGroups, short_ways: list[bool]) -> None:
    client = world.connect()
    for number in range(2):
        assert error_of(world, client, Commit(offsets=((0, number, 0, ""),))) is ErrorCode.NONE
    world.topic("new", 1)
    assert error_of(world, client, Commit()) is ErrorCode.NONE
    world.close()
    assert short_ways == [True]


def test_a_client_whose_commits_are_all_different_is_not_learnt_from_for_ever(
    world: WiredGroups, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[object] = []
    build = Memo.__init__

    def init(memo: Memo, *facts: object, **more: object) -> None:
        made.append(memo)
        build(memo, *facts, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(Memo, "__init__", init)
    answers(world, [Commit(offsets=((0, 1, 0, str(n)),)) for n in range(9)], apart=False)
    world.close()
    assert len(made) == CHANCES


def test_commits_of_which_nothing_can_be_learnt_are_not_tried_for_ever(
    world: WiredGroups, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[object] = []
    monkeypatch.setattr(commit_memo, "learn", lambda _, received: tried.append(received))
    answers(world, [Commit() for _ in range(9)], apart=False)
    world.close()
    assert len(tried) == 1


def test_a_memo_that_is_worth_it_may_be_followed_by_others(
    world: WiredGroups, short_ways: list[bool]
) -> None:
    client = world.connect()
    for index in (0, 1, 2, 0, 1, 2):
        for number in range(2 + WORTH_IT):
            error_of(world, client, Commit(offsets=((index, number, 0, ""),)))
    world.close()
    assert short_ways.count(True) >= 6 * WORTH_IT


def test_numbers_are_found_whatever_the_names_are(
    world: WiredGroups, short_ways: list[bool]
) -> None:
    """Bytes that look like numbers, across the ends of fields."""
    odd = Commit(version=8, group="x\0\0\5", generation=-288_293_026, member="\0" * 4 + "m" * 112)
    client = world.connect()
    for offset in range(3):
        client.send(odd._replace(offsets=((0, offset, 0, ""),)).frame(offset))
        world.run_turn()
    found = {g: o for shard in world.offsets() for g, o in shard["offsets"].items()}  # type: ignore[index]
    world.close()
    assert short_ways == [True]
    assert found["x\0\0\5"]["t", 0][0] == 2


def test_a_connection_keeps_no_large_commit(world: WiredGroups, short_ways: list[bool]) -> None:
    long_name = [Commit(client_id="c" * 9_000, offsets=((0, n, 0, ""),)) for n in range(3)]
    many = [Commit(group="g" * 6_000, offsets=((0, n, 0, ""),) * 3) for n in range(3)]
    for like in (long_name, many):
        got = answers(world, like, apart=False)
        assert [answer[4:] for answer in got] == [got[0][4:]] * 3
    world.close()
    assert short_ways == []


# Who may commit is decided each time.


def error_of(world: WiredGroups, client: Client, commit: Commit) -> ErrorCode:
    client.send(commit.frame(5))
    world.run_turn()
    (answer,) = client.answers()
    return code_in(answer)


def code_in(answer: bytes) -> ErrorCode:
    (topic,) = OffsetCommitResponse.decode(answer, 9, 5).topics
    return ErrorCode(topic.partitions[0].error_code)


def beat(world: WiredGroups, member: str, epoch: int, instance: str | None = None) -> int:
    """A heartbeat, which joins, stays or leaves; the member's epoch after it."""
    joins = epoch == 0
    request = ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id=member,
        member_epoch=epoch,
        instance_id=instance,
        rebalance_timeout_ms=1000 if joins else -1,
        subscribed_topic_names=["t"] if joins else None,
        topic_partitions=[],
    )
    client = world.connect()
    client.send(encoded(request, 1)[4:])
    world.run_turn()
    (answer,) = client.answers()
    told = ConsumerGroupHeartbeatResponse.decode(answer, 1, 5)
    assert told.error_code == 0, told
    return told.member_epoch


def used_to_short_way(world: WiredGroups, commit: Commit) -> Client:
    """A connection whose commits like this one take it."""
    client = world.connect()
    assert [error_of(world, client, commit) for _ in range(3)] == [ErrorCode.NONE] * 3
    return client


def test_a_member_that_has_left_cannot_commit(world: WiredGroups, short_ways: list[bool]) -> None:
    mine = Commit(member="m", generation=beat(world, "m", 0))
    client = used_to_short_way(world, mine)
    beat(world, "m", -1)
    code = error_of(world, client, mine)
    world.close()
    assert short_ways == [True, True]
    assert code is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_commits_in_its_own_epoch_only(world: WiredGroups, short_ways: list[bool]) -> None:
    mine = Commit(member="m", generation=beat(world, "m", 0))
    client = used_to_short_way(world, mine)
    beat(world, "other", 0)
    while (epoch := beat(world, "m", mine.generation)) == mine.generation:
        pass
    codes = [
        error_of(world, client, mine),
        error_of(world, client, mine._replace(generation=epoch)),
        error_of(world, client, mine),
    ]
    world.close()
    assert short_ways == [True, True, False, False]
    assert codes == [ErrorCode.STALE_MEMBER_EPOCH, ErrorCode.NONE, ErrorCode.STALE_MEMBER_EPOCH]


def test_a_static_member_that_was_replaced_cannot_commit(
    world: WiredGroups, short_ways: list[bool]
) -> None:
    mine = Commit(member="m", instance="i", generation=beat(world, "m", 0, "i"))
    client = used_to_short_way(world, mine)
    beat(world, "m", -2, "i")
    beat(world, "next", 0, "i")
    code = error_of(world, client, mine)
    world.close()
    assert short_ways == [True, True]
    assert code is ErrorCode.UNKNOWN_MEMBER_ID


def test_another_group_on_the_connection_gets_its_own_offsets(world: WiredGroups) -> None:
    client = used_to_short_way(world, Commit(group="g"))
    error_of(world, client, Commit(group="h", offsets=((0, 7, 0, ""),)))
    error_of(world, client, Commit(group="g", offsets=((0, 8, 0, ""),)))
    shards = world.offsets()
    world.close()
    found = {g: o for shard in shards for g, o in shard["offsets"].items()}  # type: ignore[index]
    assert {group: offsets["t", 0][0] for group, offsets in found.items()} == {"g": 8, "h": 7}


def test_a_coordinator_that_is_one_no_more_refuses(
    world: WiredGroups, short_ways: list[bool]
) -> None:
    client = used_to_short_way(world, Commit())
    for index in range(2):
        world.groups.runtime.unload(index)
    code = error_of(world, client, Commit())
    world.close()
    assert short_ways == [True, True]
    assert code is ErrorCode.NOT_COORDINATOR


def test_commits_that_do_not_wait_for_answers_are_answered_in_order(
    world: WiredGroups, short_ways: list[bool]
) -> None:
    client = world.connect()
    sent = [Commit(offsets=((0, n, 0, ""),)) for n in range(6)]
    sent[4] = Commit(group="h")
    for number, commit in enumerate(sent):
        client.send(commit.frame(number))
    world.run_turn()
    got = client.answers()
    world.close()
    assert short_ways == [True, True, False, False]
    assert [int.from_bytes(answer[:4], "big") for answer in got] == list(range(6))
    assert {code_in(answer) for answer in got} == {ErrorCode.NONE}
