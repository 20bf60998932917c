"""Small questions that tests ask of a running broker."""

from __future__ import annotations

import re
import socket
import struct
from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic

from barnabas.protocol.apis import ApiKey, api


def create_topics(bootstrap: str, *names: str, partitions: int = 1, **config: str) -> None:
    settings = {key.replace("_", "."): value for key, value in config.items()}
    admin = AdminClient({"bootstrap.servers": bootstrap})
    topics = [NewTopic(name, partitions, 1, config=settings) for name in names]
    for created in admin.create_topics(topics).values():
        created.result(30)


def advertised(port: int) -> dict[int, tuple[int, int]]:
    """What the broker says in ApiVersions: version range by api key."""
    described = api(ApiKey.API_VERSIONS)
    with socket.create_connection(("127.0.0.1", port), timeout=10) as sock:
        body = struct.pack(">hhih", ApiKey.API_VERSIONS, 0, 1, -1)
        sock.sendall(struct.pack(">i", len(body)) + body)
        stream = sock.makefile("rb")
        size = struct.unpack(">i", stream.read(4))[0]
        answer = described.response.decode(stream.read(size)[4:], 0)
        stream.close()
    return {key.api_key: (key.min_version, key.max_version) for key in answer.api_keys}


def resident_kib(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1])
