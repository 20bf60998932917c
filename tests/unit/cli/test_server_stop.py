"""Which nodes are stopped, and what is said where there are none.

Nothing here may ever look for the nodes of this machine: they belong to somebody.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from barnabas.cli import server_stop
from barnabas.cli.command import CommandError
from barnabas.cli.main import run_tool
from barnabas.cli.processes import Process, Server
from barnabas.cli.server_stop import choose, stop

Captured = pytest.CaptureFixture[str]
BOTH = frozenset({"broker", "controller"})


def server(pid: int, *, file: str | None = None, node_id: str = "1", **fields: object) -> Server:
    roles = fields.get("roles", BOTH)
    assert isinstance(roles, frozenset)
    return Server(
        pid=pid,
        parent=1,
        file=file,
        node_id=node_id,
        roles=roles,
        is_cluster=bool(fields.get("is_cluster")),
    )


ALL = [
    server(10, file="/a.properties", node_id="1"),
    server(11, file="/b.properties", node_id="2", roles=frozenset({"broker"})),
    server(12, node_id="1", is_cluster=True),
]


def test_without_a_word_all_are_meant() -> None:
    assert choose(ALL) == ALL


@pytest.mark.parametrize(
    ("wish", "pids"),
    [
        ({"file": "/a.properties"}, [10]),
        ({"file": "/c.properties"}, []),
        ({"node_id": "1"}, [10]),
        ({"node_id": "2"}, [11]),
        ({"role": "broker"}, [10, 11]),
        ({"role": "controller"}, [10]),
        ({"role": "broker", "node_id": "2", "file": "/b.properties"}, [11]),
        ({"role": "controller", "node_id": "2"}, []),
    ],
)
def test_what_is_said_limits_them(wish: dict[str, str], pids: list[int]) -> None:
    assert [each.pid for each in choose(ALL, **wish)] == pids


def run(line: str) -> int:
    return run_tool("kafka-server-stop", "barnabas.cli.server_stop", line.split())


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> list[Process]:
    """The processes that there are, in the place of those of this machine."""
    processes: list[Process] = []
    monkeypatch.setattr(server_stop, "own_processes", lambda: processes)
    return processes


def test_where_nothing_runs_it_is_said_and_fails(
    machine: list[Process], capsys: Captured, tmp_path: Path
) -> None:
    assert run("") == 1
    assert capsys.readouterr() == ("", "No kafka server to stop\n")
    file = tmp_path / "s.properties"
    file.touch()
    assert run(f"{file} --node-id 3") == 1
    assert capsys.readouterr().err == (
        f"No kafka server to stop: none runs with the file {file} and with the id 3\n"
    )


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("/none/such.properties", "there is no file /none/such.properties"),
        ("--node-id x", '--node-id: "x" is not a whole number'),
        ("--process-role king", '--process-role: "king" is not one of broker, controller'),
        ("a b", 'unexpected argument "b"'),
    ],
)
def test_what_cannot_be_meant_is_one_line(
    machine: list[Process], capsys: Captured, line: str, complaint: str
) -> None:
    assert run(line) == 1
    assert capsys.readouterr().err == f"kafka-server-stop: {complaint}\n"


def child(code: str) -> subprocess.Popen[bytes]:
    """A process that is ready when it has printed a line."""
    process = subprocess.Popen(
        [sys.executable, "-c", f"import signal, time\n{code}"], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline()
    return process


def test_all_are_told_and_waited_for(capsys: Captured) -> None:
    both = [child("print(1, flush=True); time.sleep(600)") for _ in range(2)]
    stop([server(each.pid, node_id=str(n)) for n, each in enumerate(both)], timeout_s=60)
    assert [each.wait(30) for each in both] == [-15, -15]
    assert sorted(capsys.readouterr().out.splitlines()) == [
        f"Stopped node {n} (process {each.pid})" for n, each in enumerate(both)
    ]
    for each in both:
        each.communicate()


def test_one_that_does_not_stop_is_named() -> None:
    deaf = child("signal.signal(15, signal.SIG_IGN); print(1, flush=True); time.sleep(600)")
    try:
        with pytest.raises(CommandError, match=rf"not stopped within 0.1 s: .*{deaf.pid}"):
            stop([server(deaf.pid)], timeout_s=0.1)
    finally:
        deaf.kill()
        deaf.communicate()


def test_one_that_has_ended_meanwhile_is_no_trouble(capsys: Captured) -> None:
    gone = child("print(1, flush=True)")
    gone.communicate()
    stop([server(gone.pid)], timeout_s=30)
    assert capsys.readouterr().out == ""
