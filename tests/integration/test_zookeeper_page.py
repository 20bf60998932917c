"""`docs/operate/zookeeper.md` is typed as it stands; only addresses and paths are exchanged."""

from __future__ import annotations

import re
from pathlib import Path

from typed_page import commands_of, type_in
from zookeeper_server import free_port

BROKERS = (1, 2, 3)


def script(folder: Path) -> str:
    """All commands of the page, for one shell."""
    typed = commands_of("zookeeper.md")
    zookeeper = free_port()
    ports = {number: free_port() for number in BROKERS}
    typed = typed.replace("localhost:2181", f"127.0.0.1:{zookeeper}")
    typed = typed.replace("clientPort=2181", f"clientPort={zookeeper}\ntickTime=200")
    typed = typed.replace("/tmp/", f"{folder}/")
    typed = typed.replace("localhost:909$id", "127.0.0.1:${PORTS[$id]}")
    for number, port in ports.items():
        typed = typed.replace(f"localhost:909{number}", f"127.0.0.1:{port}")
    assert "localhost" not in typed, "an address was forgotten"
    return f"PORTS=(0 {' '.join(map(str, ports.values()))})\n{typed}"


def test_the_page_about_zookeeper_works_as_it_stands(tmp_path: Path) -> None:
    text = type_in(script(tmp_path), tmp_path, KAFKA_HEAP_OPTS="-Xmx256M")
    assert text.count("broker started in the background") == 3
    assert "Created topic orders." in text
    assert re.search(r"PartitionCount: 3\s+ReplicationFactor: 3", text)
    assert "brokers ['1', '2', '3']" in text
    assert '"brokerid"' in text
    assert '"end_offset"' in text
