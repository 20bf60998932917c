"""`docs/operate/cluster.md` is typed as it stands; only addresses and paths are exchanged."""

from __future__ import annotations

import random
import re
import socket
from contextlib import ExitStack
from pathlib import Path

from typed_page import commands_of, type_in


def consecutive_ports(count: int) -> int:
    """The first of some that are free now."""
    while True:
        first = random.randrange(20_000, 32_000)
        with ExitStack() as stack:
            try:
                for port in range(first, first + count):
                    stack.enter_context(socket.create_server(("127.0.0.1", port)))
            except OSError:
                continue
            return first


def script(folder: Path) -> str:
    """All commands of the page, for one shell, and the end of what it left running."""
    typed = commands_of("cluster.md")
    first = consecutive_ports(8)
    for number in range(3):
        typed = typed.replace(f"localhost:909{2 + number}", f"127.0.0.1:{first + number}")
    typed = typed.replace("localhost:919$id", f"127.0.0.1:$(({first + 4} + id))")
    typed = typed.replace("localhost:9190", f"127.0.0.1:{first + 4}")
    typed = typed.replace("localhost:9199", f"127.0.0.1:{first + 7}")
    typed = typed.replace("/tmp/", f"{folder}/")
    assert "localhost" not in typed, "an address was forgotten"
    return f"trap 'kill $!; wait $!' EXIT\n{typed}"


def test_the_page_about_clusters_works_as_it_stands(tmp_path: Path) -> None:
    text = type_in(script(tmp_path), tmp_path)
    assert "ready: 3 brokers" in text
    assert "Created topic orders." in text
    assert re.search(r"Topic: orders.*PartitionCount: 3\s+ReplicationFactor: 3", text)
    assert text.count("started in the background") == 5  # one of them twice
    assert "Created topic by-hand." in text
    assert re.search(r"^controller \| .* stopped: controller 3000$", text, re.MULTILINE)
