from __future__ import annotations

import pytest

from barnabas.protocol.json_form import camel_case, json_form
from barnabas.protocol.messages import group_records as gr
from barnabas.protocol.messages import metadata_records as mr


@pytest.mark.parametrize(
    ("ours", "kafkas"),
    [("epoch", "epoch"), ("leader_epoch", "leaderEpoch"), ("k_raft_version", "kRaftVersion")],
)
def test_names_of_fields_are_kafkas(ours: str, kafkas: str) -> None:
    assert camel_case(ours) == kafkas


def test_fields_that_a_version_lacks_are_left_out() -> None:
    value = gr.OffsetCommitValue(offset=5, leader_epoch=2, metadata="m", commit_timestamp=9)

    assert json_form(value, 0) == {"offset": 5, "metadata": "m", "commitTimestamp": 9}
    assert list(json_form(value, 3)) == ["offset", "leaderEpoch", "metadata", "commitTimestamp"]


def test_a_tagged_field_is_there_only_if_it_says_something() -> None:
    silent = mr.PartitionChangeRecord(partition_id=1, topic_id=bytes(16))
    telling = mr.PartitionChangeRecord(partition_id=1, topic_id=bytes(16), isr=[1, 2], leader=-1)

    assert json_form(silent, 0) == {"partitionId": 1, "topicId": "AAAAAAAAAAAAAAAAAAAAAA"}
    assert json_form(telling, 0) == json_form(silent, 0) | {"isr": [1, 2], "leader": -1}


def test_bytes_are_base64_and_parts_are_objects() -> None:
    value = gr.GroupMetadataValue(
        protocol=None, members=[gr.MemberMetadata(member_id="m", subscription=b"\xff\xfe")]
    )

    shown = json_form(value, 0)

    assert shown["protocol"] is None
    assert shown["members"][0] == {
        "memberId": "m",
        "clientId": "",
        "clientHost": "",
        "sessionTimeout": 0,
        "subscription": "//4=",
        "assignment": "",
    }
