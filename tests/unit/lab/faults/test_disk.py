"""A node's disk is what the lab says it is, from the moment it says so."""

from __future__ import annotations

import errno
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.lab.cluster.steering import Steering
from barnabas.lab.faults.disk import SteeredSyscalls
from barnabas.lab.faults.disk_state import DiskState, Felt

PATIENCE_S = 60


class Node:
    """The disk of a node, and the lab's end of the line to it."""

    def __init__(self) -> None:
        self.hits = threading.Semaphore(0)
        self.felt: list[Felt] = []
        self.steering = Steering(self.feel)
        theirs = socket.socket(fileno=os.dup(self.steering.theirs.fileno()))
        self.calls = SteeredSyscalls(DiskState(), theirs)
        self.thread = threading.Thread(target=self.calls.steer)
        self.thread.start()

    def feel(self, what: Felt) -> None:
        self.felt.append(what)
        self.hits.release()

    def set(self, state: DiskState) -> None:
        self.steering.steer(state, timeout_s=PATIENCE_S)


@pytest.fixture
def node() -> Iterator[Node]:
    made = Node()
    yield made
    made.steering.close()
    made.thread.join(PATIENCE_S)


@pytest.fixture
def descriptor(tmp_path: Path) -> Iterator[int]:
    made = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    yield made
    os.close(made)


def test_a_full_disk_takes_no_byte_until_there_is_room(node: Node, descriptor: int) -> None:
    node.set(DiskState(full=True))
    with pytest.raises(OSError, match="No space left") as refusal:
        node.calls.pwritev(descriptor, [b"abc"], 0)
    assert refusal.value.errno == errno.ENOSPC
    assert node.calls.statvfs("/").f_bavail == 0
    assert node.hits.acquire(timeout=PATIENCE_S)

    node.set(DiskState())
    assert node.calls.pwritev(descriptor, [b"abc"], 0) == 3
    assert os.pread(descriptor, 10, 0) == b"abc"
    assert node.calls.statvfs("/").f_blocks == os.statvfs("/").f_blocks


def test_a_slow_disk_is_felt_by_every_write_and_flush(node: Node, descriptor: int) -> None:
    node.set(DiskState(slow_s=0.001))

    node.calls.pwritev(descriptor, [b"abc"], 0)
    node.calls.fsync(descriptor)
    node.calls.fdatasync(descriptor)

    for _ in range(3):
        assert node.hits.acquire(timeout=PATIENCE_S)


def test_a_disk_that_is_slow_and_full_is_felt_as_both(node: Node, descriptor: int) -> None:
    node.set(DiskState(slow_s=0.001, full=True))

    with pytest.raises(OSError, match="No space left"):
        node.calls.pwritev(descriptor, [b"abc"], 0)

    for _ in range(2):
        assert node.hits.acquire(timeout=PATIENCE_S)
    assert node.felt == ["slow", "full"]


def test_an_answer_that_nobody_waited_for_is_none_to_what_is_said_later() -> None:
    steering = Steering(lambda felt: None)
    with steering.theirs.makefile("r") as heard:
        steering.steer(DiskState(full=True), timeout_s=None)
        heard.readline()
        steering.theirs.sendall(b'{"done": true}\n')

        with pytest.raises(TimeoutError):
            steering.steer(DiskState(), timeout_s=0.2)
    steering.close()


def test_a_good_disk_is_felt_by_nobody(node: Node, descriptor: int) -> None:
    node.calls.pwritev(descriptor, [b"abc"], 0)
    node.set(DiskState(full=True))  # whatever was said before this is answered has come by then

    assert not node.hits.acquire(blocking=False)


def test_a_node_that_is_gone_needs_nothing(node: Node) -> None:
    node.steering.close()
    node.thread.join(PATIENCE_S)

    node.set(DiskState(full=True))


def test_a_state_is_read_as_it_was_written() -> None:
    state = DiskState(slow_s=0.5, full=True)

    assert DiskState.of(state.line().decode()) == state
    assert DiskState.of("{}") == DiskState()


def test_states_add_up() -> None:
    slow, full = DiskState(slow_s=0.5), DiskState(full=True)

    assert DiskState.together([]) == DiskState()
    assert DiskState.together([slow, full, slow]) == DiskState(slow_s=1.0, full=True)
    assert [state.causes("slow") for state in (slow, full)] == [True, False]
    assert [state.causes("full") for state in (slow, full)] == [False, True]
