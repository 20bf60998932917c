from __future__ import annotations

import json

import pytest

from barnabas.base.errors import StorageFailed
from barnabas.controller import zookeeper_layout as layout
from barnabas.controller.zookeeper_layout import ControllerNode, Endpoint, Entry

PLAIN = Endpoint(listener="PLAINTEXT", security_protocol="PLAINTEXT", host="b1", port=9092)
INSIDE = Endpoint(listener="INSIDE", security_protocol="SSL", host="::1", port=9093)


def test_a_broker_looks_as_apache_kafka_writes_it() -> None:
    data = layout.encode_broker([INSIDE, PLAIN], rack="r1", now_ms=1700000000123)
    assert json.loads(data) == {
        "version": 5,
        "listener_security_protocol_map": {"INSIDE": "SSL", "PLAINTEXT": "PLAINTEXT"},
        "endpoints": ["INSIDE://[::1]:9093", "PLAINTEXT://b1:9092"],
        "host": "b1",
        "port": 9092,
        "jmx_port": -1,
        "timestamp": "1700000000123",
        "features": {},
        "rack": "r1",
    }


def test_a_broker_without_a_plain_listener_has_no_host() -> None:
    fields = json.loads(layout.encode_broker([INSIDE], rack=None, now_ms=0))
    assert (fields["host"], fields["port"]) == (None, -1)
    assert "rack" not in fields


def test_the_controller_says_who_and_where_it_is() -> None:
    node = ControllerNode(node_id=3, endpoints=(INSIDE, PLAIN))
    data = node.encode(17)
    fields = json.loads(data)
    assert (fields["version"], fields["brokerid"], fields["timestamp"]) == (1, 3, "17")
    assert ControllerNode.decode(data) == node


def test_a_controller_node_of_apache_kafka_can_be_read() -> None:
    data = b'{"version":1,"brokerid":4,"timestamp":"1"}'
    assert ControllerNode.decode(data) == ControllerNode(node_id=4, endpoints=())


def test_the_cluster_id_is_kept_as_apache_kafka_keeps_it() -> None:
    assert layout.encode_cluster_id("abc") == b'{"version": "1", "id": "abc"}'
    assert layout.decode_cluster_id(b'{"version":"1","id":"abc"}') == "abc"


@pytest.mark.parametrize("data", [b"", b"7", b"\xff", b"[]"])
def test_what_is_no_json_object_is_refused_with_its_path(data: bytes) -> None:
    with pytest.raises(StorageFailed, match="/cluster/id"):
        layout.decode_cluster_id(data)


def test_parts_of_the_journal_are_in_order() -> None:
    names = [
        "00000000000000000010-00000",
        "00000000000000000002-00001",
        "note",
        "00000000000000000002-00000",
        "00000000000000000002-0",
    ]
    assert layout.entries(names) == [Entry(2, 0), Entry(2, 1), Entry(10, 0)]
    assert layout.entries(names)[-1].path == f"{layout.LOG}/{names[0]}"


def test_a_snapshot_is_named_by_its_end_and_epoch() -> None:
    assert layout.snapshot_id(layout.snapshot_name(12, 3)) == (12, 3)
    with pytest.raises(StorageFailed, match="x"):
        layout.snapshot_id("x")


def test_pieces_hold_everything_in_order() -> None:
    data = bytes(range(10))
    assert list(layout.pieces(data, 4)) == [data[:4], data[4:8], data[8:]]
    assert list(layout.pieces(data, 5)) == [data[:5], data[5:]]
    assert layout.PART_BYTES_MAX < 1024 * 1024 - 1000
