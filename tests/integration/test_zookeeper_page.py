"""`docs/operate/zookeeper.md` is typed as it stands; only addresses and paths are exchanged."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from zookeeper_server import free_port

PAGE = Path(__file__).parents[2] / "docs" / "operate" / "zookeeper.md"
BROKERS = (1, 2, 3)
STARTED = re.compile(r"started in the background: process (\d+)")


def script(folder: Path) -> str:
    """All commands of the page, for one shell."""
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"(?:^    .*\n|^\n(?=    ))+", text, re.MULTILINE)
    typed = "\n".join(re.sub(r"^    ", "", block, flags=re.MULTILINE) for block in blocks)
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
    env = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "KAFKA_HEAP_OPTS": "-Xmx256M",
    }
    said = tmp_path / "said"
    with said.open("w") as output:
        try:
            ended = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", script(tmp_path)],
                cwd=tmp_path,
                env=env,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=240,
                check=False,
            )
        finally:
            for process in reversed(STARTED.findall(said.read_text())):
                _stop(int(process))
    text = said.read_text()
    assert ended.returncode == 0, text
    assert text.count("broker started in the background") == 3
    assert "Created topic orders." in text
    assert re.search(r"PartitionCount: 3\s+ReplicationFactor: 3", text)
    assert "brokers ['1', '2', '3']" in text
    assert '"brokerid"' in text
    assert '"end_offset"' in text


def _stop(process: int) -> None:
    """Not a child of ours: its end is awaited by a handle."""
    import select

    handle = os.pidfd_open(process)
    try:
        os.kill(process, signal.SIGTERM)
        assert select.select([handle], [], [], 60)[0], "it did not stop"
    finally:
        os.close(handle)
