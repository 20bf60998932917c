"""Lines as Apache Kafka prints them, down to the last blank."""

from __future__ import annotations

from dataclasses import replace

import pytest

from barnabas.cli.consumer_groups_rows import (
    deleted_offsets_text,
    list_json,
    list_lines,
    members_json,
    members_text,
    note_on,
    offset_rows,
    offsets_json,
    offsets_text,
    reset_text,
    state_json,
    state_text,
)
from barnabas.client.group_admin import Committed, Group, GroupListing, Member

ONE = Member(member_id="one-1", client_id="one", host="/127.0.0.1", assignment=[("t", 2)])
TWO = Member(
    member_id="two-2",
    client_id="two",
    host="/127.0.0.1",
    assignment=[("u", 10), ("t", 1), ("t", 0), ("u", 9)],
)
GROUP = Group(
    group_id="g",
    state="Stable",
    type="Classic",
    assignor="range",
    coordinator=(1, "localhost", 9092),
    members=[ONE, TWO],
)
LISTINGS = [
    GroupListing(group_id="a", state="Stable", type="Classic"),
    GroupListing(group_id="a-group-of-22-characters", state="Empty", type="Consumer"),
]


def test_groups_by_name_alone() -> None:
    assert list_lines(LISTINGS, with_type=False, with_state=False) == [
        "a",
        "a-group-of-22-characters",
    ]
    assert list_lines([], with_type=False, with_state=False) == []


def test_groups_with_type_and_state() -> None:
    assert list_lines(LISTINGS, with_type=True, with_state=True) == [
        "GROUP                              TYPE                 STATE               ",
        "a                                  Classic              Stable              ",
        "a-group-of-22-characters           Consumer             Empty               ",
    ]
    assert list_lines([], with_type=False, with_state=True) == [
        "GROUP                     STATE               "
    ]


def test_the_offset_table() -> None:
    committed = {("t", 0): Committed(offset=3, leader_epoch=5), ("gone", 0): Committed(offset=1)}
    ends = {("t", 0): 10, ("t", 1): 10, ("t", 2): 10}

    rows = offset_rows(GROUP, committed, ends)

    assert [(row.place, row.member, row.lag) for row in rows] == [
        (("t", 0), TWO, 7),
        (("t", 1), TWO, None),
        (("u", 9), TWO, None),
        (("u", 10), TWO, None),
        (("t", 2), ONE, None),
        (("gone", 0), None, None),
    ]
    assert offsets_text("g", [rows[0], rows[5]], verbose=False) == (
        "\nGROUP           TOPIC           PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG       "
        "      CONSUMER-ID     HOST            CLIENT-ID"
        "\ng               t               0          3               10              7         "
        "      two-2           /127.0.0.1      two"
        "\ng               gone            0          1               -               -         "
        "      -               -               -\n"
    )
    assert offsets_text("g", rows[:2], verbose=True) == (
        "\nGROUP           TOPIC           PARTITION  LEADER-EPOCH    CURRENT-OFFSET  "
        "LOG-END-OFFSET  LAG             CONSUMER-ID     HOST            CLIENT-ID"
        "\ng               t               0          5               3               10        "
        "      7               two-2           /127.0.0.1      two"
        "\ng               t               1          -               -               10        "
        "      -               two-2           /127.0.0.1      two\n"
    )
    assert offsets_json(GROUP, rows[:1]) == {
        "group": "g",
        "state": "Stable",
        "offsets": [
            {
                "topic": "t",
                "partition": 0,
                "leader_epoch": 5,
                "current_offset": 3,
                "log_end_offset": 10,
                "lag": 7,
                "consumer_id": "two-2",
                "host": "/127.0.0.1",
                "client_id": "two",
            }
        ],
    }


def test_a_group_without_offsets_has_no_table() -> None:
    assert offsets_text("g", [], verbose=False) == ""


def test_columns_grow_with_their_cells() -> None:
    group = replace(GROUP, group_id="a-group-of-some-length")
    text = offsets_text(group.group_id, offset_rows(group, {}, {}), verbose=False)
    heading, first, *_ = text.splitlines()[1:]
    assert heading.index("TOPIC") == first.index(" t ") + 1 == len(group.group_id) + 1


def test_the_table_of_members() -> None:
    assert members_text(GROUP, verbose=False) == (
        "\nGROUP           CONSUMER-ID     HOST            CLIENT-ID       #PARTITIONS     "
        "\ng               one-1           /127.0.0.1      one             1               "
        "\ng               two-2           /127.0.0.1      two             4               \n"
    )
    assert members_text(replace(GROUP, members=[]), verbose=False) == (
        "\nGROUP           CONSUMER-ID     HOST            CLIENT-ID       #PARTITIONS     \n"
    )


def test_members_with_instance_ids_assignments_and_epochs() -> None:
    static = replace(ONE, instance_id="i", epoch=4, target=[("t", 3)], upgraded=True)
    idle = replace(TWO, assignment=[], upgraded=False)
    group = replace(GROUP, members=[static, idle], target_epoch=5)

    assert members_text(group, verbose=True) == (
        "\nGROUP           CONSUMER-ID     GROUP-INSTANCE-ID HOST            CLIENT-ID       "
        "#PARTITIONS     CURRENT-EPOCH   CURRENT-ASSIGNMENT   TARGET-EPOCH    TARGET-ASSIGNMENT"
        "    UPGRADED"
        "\ng               one-1           i                 /127.0.0.1      one             "
        "1               4               t:2                  5               t:3              "
        "    true"
        "\ng               two-2                             /127.0.0.1      two             "
        "0               -               -                    5               -                "
        "    false\n"
    )


@pytest.mark.parametrize("upgraded", [None, True, False])
def test_whether_members_are_upgraded_is_shown_of_mixed_groups_only(upgraded: bool | None) -> None:
    group = replace(GROUP, members=[replace(each, upgraded=upgraded) for each in GROUP.members])
    text = members_text(group, verbose=True)
    assert "UPGRADED" not in text
    assert " t:0,1;u:9,10        " in text


def test_members_as_json() -> None:
    group = replace(GROUP, members=[replace(ONE, epoch=4, upgraded=True)], target_epoch=5)
    assert members_json(group)["members"] == [
        {
            "consumer_id": "one-1",
            "group_instance_id": None,
            "host": "/127.0.0.1",
            "client_id": "one",
            "assignment": [{"topic": "t", "partition": 2}],
            "current_epoch": 4,
            "target_assignment": [],
            "target_epoch": 5,
            "upgraded": True,
        }
    ]


def test_the_state_of_a_group() -> None:
    assert state_text(GROUP, verbose=False) == (
        "\nGROUP           COORDINATOR (ID)          ASSIGNMENT-STRATEGY  STATE                "
        "#MEMBERS"
        "\ng               localhost:9092  (1)       range                Stable               2\n"
    )
    empty = replace(GROUP, members=[], assignor="", state="Empty", epoch=3, target_epoch=2)
    assert state_text(empty, verbose=True) == (
        "\nGROUP           COORDINATOR (ID)          ASSIGNMENT-STRATEGY  STATE                "
        "GROUP-EPOCH     TARGET-ASSIGNMENT-EPOCH   #MEMBERS"
        "\ng               localhost:9092  (1)       -                    Empty                "
        "3               2                         0\n"
    )
    assert state_json(empty) == {
        "group": "g",
        "type": "Classic",
        "state": "Empty",
        "coordinator": {"id": 1, "host": "localhost", "port": 9092},
        "assignment_strategy": None,
        "group_epoch": 3,
        "target_assignment_epoch": 2,
        "members": 0,
    }


@pytest.mark.parametrize(
    ("state", "note"),
    [
        ("Stable", ""),
        ("Unknown", ""),
        ("Empty", "Consumer group 'g' has no active members."),
        ("PreparingRebalance", "Warning: Consumer group 'g' is rebalancing."),
        ("CompletingRebalance", "Warning: Consumer group 'g' is rebalancing."),
        ("Assigning", "Warning: Consumer group 'g' is rebalancing."),
        ("Reconciling", "Warning: Consumer group 'g' is rebalancing."),
    ],
)
def test_what_is_said_of_a_state(state: str, note: str) -> None:
    assert note_on(replace(GROUP, state=state)) == note


def test_new_offsets() -> None:
    assert reset_text({"h": {}, "g": {("t", 1): 5, ("t", 0): 12}}) == (
        "\nGROUP           TOPIC           PARTITION  NEW-OFFSET"
        "\ng               t               0          12"
        "\ng               t               1          5\n"
    )
    assert reset_text({"g": {}}) == "\nGROUP           TOPIC           PARTITION  NEW-OFFSET\n"
    assert reset_text({}) == "\n"


def test_deleted_offsets() -> None:
    assert deleted_offsets_text(
        {("t", 10): "Successful", ("t", 9): "Error: it is still read from", ("none", None): "Error"}
    ) == (
        "\nTOPIC           PARTITION  STATUS         "
        "\nnone            -          Error          "
        "\nt               9          Error: it is still read from"
        "\nt               10         Successful     \n"
    )


def test_listings_as_json() -> None:
    assert list_json(LISTINGS[:1]) == [{"group": "a", "type": "Classic", "state": "Stable"}]
