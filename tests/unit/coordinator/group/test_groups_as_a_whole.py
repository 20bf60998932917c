"""Listing, describing and deleting groups."""

from __future__ import annotations

import pytest
from group_machine import GROUP, GroupMachine, topic, topic_id

from barnabas.base.errors import ErrorCode as E
from barnabas.protocol.messages import consumer_group_describe as cgd
from barnabas.protocol.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)
from barnabas.protocol.messages.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
)
from barnabas.protocol.messages.list_groups import ListedGroup, ListGroupsRequest

DAY_MS = 24 * 60 * 60 * 1000
WEEK_MS = 7 * DAY_MS
CHECK_MS = 10 * 60 * 1000


# List


def listed(machine: GroupMachine, **filters: list[str]) -> list[str]:
    reply = machine.send(ListGroupsRequest(**filters)).reply  # type: ignore[arg-type]
    assert reply.error_code == 0
    return sorted(group.group_id for group in reply.groups)


def three_groups() -> GroupMachine:
    machine = GroupMachine([topic("t", 1)])
    member_id, _ = machine.new_member(group="classic")
    machine.advance(100)
    machine.sync(member_id, 1, {member_id: b""}, group="classic")
    machine.consume("a", names=["t"], group="modern")
    machine.commit(5, group="simple")
    return machine


def test_every_group_is_listed_with_its_kind_and_state() -> None:
    reply = three_groups().send(ListGroupsRequest()).reply

    assert sorted(reply.groups, key=lambda g: g.group_id) == [
        ListedGroup(
            group_id="classic",
            protocol_type="consumer",
            group_state="Stable",
            group_type="classic",
        ),
        ListedGroup(
            group_id="modern",
            protocol_type="consumer",
            group_state="Stable",
            group_type="consumer",
        ),
        ListedGroup(group_id="simple", group_state="Empty", group_type="classic"),
    ]


@pytest.mark.parametrize(
    ("states", "types", "found"),
    [
        (["Stable"], [], ["classic", "modern"]),
        (["sTABLE"], ["CONSUMER"], ["modern"]),
        (["Empty", "Dead"], [], ["simple"]),
        ([], ["classic"], ["classic", "simple"]),
        ([], ["share"], []),
    ],
)
def test_the_list_can_be_filtered(states: list[str], types: list[str], found: list[str]) -> None:
    assert listed(three_groups(), states_filter=states, types_filter=types) == found


def test_a_list_that_would_be_incomplete_is_refused() -> None:
    machine = three_groups()
    machine.runtime.begin_load(1, epoch=0)

    reply = machine.send(ListGroupsRequest()).reply

    assert (reply.error_code, reply.groups) == (E.COORDINATOR_LOAD_IN_PROGRESS, [])


# Describe


def test_a_stable_classic_group_shows_what_its_members_said_and_got() -> None:
    machine = GroupMachine()
    _, (member_id,) = machine.stable_group()

    assert machine.describe() == DescribedGroup(
        group_id=GROUP,
        group_state="Stable",
        protocol_type="consumer",
        protocol_data="range",
        members=[
            DescribedGroupMember(
                member_id=member_id,
                client_id="c",
                client_host="/127.0.0.1",
                member_metadata=b"meta",
                member_assignment=member_id.encode(),
            )
        ],
    )


def test_a_group_that_is_not_stable_shows_no_metadata() -> None:
    machine = GroupMachine()
    _, (leader, _) = machine.stable_group(2)
    machine.join(leader)

    described = machine.describe()

    assert (described.group_state, described.protocol_data) == ("PreparingRebalance", "")
    assert [m.member_metadata for m in described.members] == [b"", b""]


@pytest.mark.parametrize(("version", "code"), [(6, E.GROUP_ID_NOT_FOUND), (5, E.NONE)])
def test_a_group_that_does_not_exist_is_dead(version: int, code: E) -> None:
    described = GroupMachine().describe("nobody", version=version)

    assert (described.group_state, described.error_code) == ("Dead", code)


def test_groups_are_described_in_the_order_they_were_asked_for() -> None:
    machine = three_groups()
    asked = ["simple", "nobody", "classic", "simple"]

    reply = machine.send(DescribeGroupsRequest(groups=asked)).reply

    assert [group.group_id for group in reply.groups] == asked


def test_a_consumer_group_shows_what_its_members_have_and_should_have() -> None:
    machine = GroupMachine([topic("t", 2)])
    machine.consume("a", names=["t"], instance="i", assignor="range")
    machine.consume("b", names=["t"])

    def parts(*indexes: int) -> cgd.Assignment:
        found = cgd.TopicPartitions(
            topic_id=topic_id("t"), topic_name="t", partitions=list(indexes)
        )
        return cgd.Assignment(topic_partitions=[found] if indexes else [])

    common = {
        "client_id": "c",
        "client_host": "/127.0.0.1",
        "subscribed_topic_names": ["t"],
        "subscribed_topic_regex": "",
        "member_type": 1,
    }
    assert machine.describe_consumer() == cgd.DescribedGroup(
        group_id=GROUP,
        group_state="Reconciling",
        group_epoch=2,
        assignment_epoch=2,
        assignor_name="range",
        members=[
            cgd.Member(
                member_id="a",
                instance_id="i",
                member_epoch=1,
                assignment=parts(0, 1),
                target_assignment=parts(0),
                **common,
            ),
            cgd.Member(
                member_id="b",
                member_epoch=2,
                assignment=parts(),
                target_assignment=parts(1),
                **common,
            ),
        ],
    )


def test_partitions_that_a_member_is_still_to_give_up_are_shown_as_its_own() -> None:
    machine = GroupMachine([topic("t", 2)])
    machine.consume("a", names=["t"])
    machine.consume("b", names=["t"])
    told = machine.consume("a", epoch=1)

    def owned() -> list[list[int]]:
        members = machine.describe_consumer().members
        return [[i for t in m.assignment.topic_partitions for i in t.partitions] for m in members]

    assert [t.partitions for t in told.assignment.topic_partitions] == [[0]]
    assert owned() == [[0, 1], []]
    machine.consume("a", epoch=1, owned={"t": [0]})
    assert owned() == [[0], []]


def test_consumer_groups_that_cannot_be_described() -> None:
    machine = three_groups()

    reply = machine.send(
        cgd.ConsumerGroupDescribeRequest(group_ids=["classic", "", "nobody", "simple"])
    ).reply

    assert [group.error_code for group in reply.groups] == [
        E.GROUP_ID_NOT_FOUND,
        E.INVALID_GROUP_ID,
        E.GROUP_ID_NOT_FOUND,
        E.GROUP_ID_NOT_FOUND,
    ]


# Delete


def test_groups_without_members_can_be_deleted_with_their_offsets() -> None:
    machine = three_groups()
    machine.commit(1, group="modern", member="a", epoch=1)
    machine.consume("a", -1, group="modern")

    reply = machine.send(
        DeleteGroupsRequest(groups_names=["classic", "modern", "simple", "nobody", "simple"])
    ).reply

    assert reply == DeleteGroupsResponse(
        results=[
            DeletableGroupResult(group_id="classic", error_code=E.NON_EMPTY_GROUP),
            DeletableGroupResult(group_id="modern"),
            DeletableGroupResult(group_id="simple"),
            DeletableGroupResult(group_id="nobody", error_code=E.GROUP_ID_NOT_FOUND),
        ]
    )
    assert listed(machine) == ["classic"]
    machine.restart()
    assert listed(machine) == ["classic"]
    assert machine.fetch(group="modern") == (-1, 0)


def test_a_group_that_was_deleted_can_be_made_again() -> None:
    machine = GroupMachine()
    _, (member_id,) = machine.stable_group()
    machine.leave((member_id, None))
    machine.send(DeleteGroupsRequest(groups_names=[GROUP]))

    assert machine.stable_group()[0] == 1


def test_a_group_of_which_the_log_knows_nothing_is_deleted_without_a_record() -> None:
    machine = GroupMachine()
    machine.join()

    assert machine.send(DeleteGroupsRequest(groups_names=[GROUP])).reply.results[0].error_code == 0
    assert machine.log.batches == []
    assert listed(machine) == []
