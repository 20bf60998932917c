"""Which processes are nodes, and what each was started with."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from barnabas.cli.processes import (
    Process,
    Server,
    own_processes,
    server_of,
    servers_among,
    start_arguments,
    without_descendants,
)

PYTHON = "/usr/bin/python3"


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (f"{PYTHON} /v/bin/kafka-server-start s.properties", ("server-start", ["s.properties"])),
        (f"{PYTHON} /v/bin/kafka-server-start.sh -daemon s", ("server-start", ["-daemon", "s"])),
        (f"{PYTHON} /v/bin/barnabas start --brokers 3", ("start", ["--brokers", "3"])),
        (f"{PYTHON} -u -m barnabas.cli.main start", ("start", [])),
        (f"{PYTHON} -m barnabas.cli.main server-start s", ("server-start", ["s"])),
        (f"{PYTHON} /v/bin/barnabas topics --list", None),
        (f"{PYTHON} /v/bin/barnabas", None),
        (f"{PYTHON} /v/bin/kafka-server-stop", None),
        (f"{PYTHON} other.py barnabas.cli.main start", None),
        ("less /etc/barnabas/start/kafka-server-start.txt", None),
        ("vim kafka-server-start", None),
        ("tail -f /v/bin/kafka-server-start.sh", None),
        (f"{PYTHON} edit.py /v/bin/kafka-server-start", None),
        ("/v/bin/kafka-server-start s.properties", ("server-start", ["s.properties"])),
        ("", None),
    ],
)
def test_command_lines_that_start_nodes_are_known(
    line: str, found: tuple[str, list[str]] | None
) -> None:
    assert start_arguments(line.split()) == found


def process(line: str, *, pid: int = 1, parent: int = 0, cwd: str = "/") -> Process:
    return Process(pid=pid, parent=parent, argv=[PYTHON, *line.split()], cwd=cwd)


def test_a_node_is_known_by_its_file_and_what_that_says(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("broker.id=7\nprocess.roles=broker, controller\n")
    found = server_of(process("kafka-server-start server.properties", cwd=str(tmp_path)))
    assert found == Server(
        pid=1,
        parent=0,
        file=os.path.realpath(file),
        node_id="7",
        roles=frozenset({"broker", "controller"}),
    )


@pytest.mark.parametrize(
    ("line", "node_id", "roles"),
    [
        ("barnabas start", "1", {"broker", "controller"}),
        ("barnabas start --override node.id=5 --override process.roles=broker", "5", {"broker"}),
        ("barnabas start --override zookeeper.connect=h:1", "1", {"broker"}),
        ("barnabas start --config /none/such", "1", {"broker", "controller"}),
    ],
)
def test_a_node_is_known_by_its_command_line(line: str, node_id: str, roles: set[str]) -> None:
    found = server_of(process(line))
    assert found is not None
    assert (found.node_id, found.roles, found.is_cluster) == (node_id, roles, False)


def test_who_only_asked_for_help_is_no_node() -> None:
    for line in ("barnabas start --help", "barnabas start --nonsense", "kafka-server-start -h"):
        assert server_of(process(line)) is None


def test_who_keeps_a_cluster_stands_for_its_nodes() -> None:
    processes = [
        process("barnabas start --brokers 2", pid=10, parent=1),
        process("-m barnabas.cli.main start --override node.id=0", pid=11, parent=10),
        process("sh", pid=12, parent=10),
        process("-m barnabas.cli.main start --override node.id=1", pid=13, parent=12),
        process("kafka-server-start /s", pid=20, parent=1),
    ]
    servers = servers_among(processes)
    assert [server.pid for server in servers] == [10, 11, 13, 20]
    assert [server.is_cluster for server in servers] == [True, False, False, False]
    parents = {each.pid: each.parent for each in processes}
    assert [each.pid for each in without_descendants(servers, parents)] == [10, 20]
    assert [each.pid for each in without_descendants(servers[1:3], parents)] == [11, 13]


def test_this_very_process_is_found_with_all_that_is_said_of_it() -> None:
    own = next(each for each in own_processes() if each.pid == os.getpid())
    assert (own.parent, own.cwd) == (os.getppid(), os.getcwd())
    assert own.argv


def test_what_cannot_be_looked_into_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "123").mkdir()
    (tmp_path / "self").mkdir()
    assert own_processes(tmp_path) == []
