"""Processes of a cluster do not outlive the lab, and what guards them does not outlive them."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys

import pytest

from barnabas.lab.cluster.process import NodeProcess

PATIENCE_S = 60
NODE = "print('ready', flush=True); import time; time.sleep(600)"
LAB = """
import os, signal, sys
from barnabas.lab.cluster.process import NodeProcess
node = NodeProcess.start(
    "node", [sys.executable, "-c", sys.argv[1]], output=[],
    is_ready_line=lambda line: True, on_end=lambda: None,
)
node.await_ready(60)
if sys.argv[2] == "frozen":
    node.signal(signal.SIGSTOP)
print(node.popen.pid, flush=True)
sys.stdin.readline()
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("state", ["running", "frozen"])
def test_a_process_ends_with_a_lab_that_was_killed(state: str) -> None:
    """Though this one looks for its lab by itself in neither state."""
    with subprocess.Popen(
        [sys.executable, "-c", LAB, NODE, state], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as lab:
        assert lab.stdin is not None
        assert lab.stdout is not None
        pid = int(lab.stdout.readline())
        node = os.pidfd_open(pid)
        lab.stdin.write(b"\n")
    try:
        assert lab.returncode == -signal.SIGKILL
        is_ended = bool(select.select([node], [], [], PATIENCE_S)[0])
        if not is_ended:
            signal.pidfd_send_signal(node, signal.SIGKILL)
        assert is_ended
    finally:
        os.close(node)


def test_the_guard_of_a_process_ends_with_it() -> None:
    node = NodeProcess.start(
        "node",
        [sys.executable, "-c", NODE],
        output=[],
        is_ready_line=lambda line: True,
        on_end=lambda: None,
    )
    node.await_ready(PATIENCE_S)
    assert node.guard.poll() is None

    node.signal(signal.SIGKILL)
    node.join(PATIENCE_S)
    node.reader.join(PATIENCE_S)

    assert node.guard.returncode == 0
