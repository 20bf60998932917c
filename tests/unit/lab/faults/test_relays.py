"""Gates that open and shut, links that are cut, and what passes through them."""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import Iterator

import pytest

from barnabas.lab.faults.conditions import Condition
from barnabas.lab.faults.fault import Fault
from barnabas.lab.faults.gate import CLIENTS, Gate
from barnabas.lab.faults.relays import Cut, Relays, Trigger

PATIENCE_S = 60
NODE = 1


class Echo(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        while data := self.request.recv(1000):
            self.request.sendall(data)


@pytest.fixture
def target() -> Iterator[tuple[str, int]]:
    """A node that says what it hears."""
    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Echo)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server.server_address[0], server.server_address[1]
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def relays() -> Iterator[Relays]:
    made = Relays()
    made.start()
    yield made
    made.close()


@pytest.fixture
def gate(relays: Relays, target: tuple[str, int]) -> Gate:
    made = Gate(NODE, target, is_raw=True)
    relays.open(made)
    return made


def connect(gate: Gate) -> socket.socket:
    return socket.create_connection(("127.0.0.1", gate.port.number), PATIENCE_S)


def cut(relays: Relays, *, silent: bool) -> Fault:
    def mend() -> None:
        relays.cuts.remove(standing)
        standing.lifted.set()

    fault = Fault("a cut", lambda: relays.call(mend))
    standing = Cut(fault, frozenset((NODE, CLIENTS)), silent=silent)

    def begin() -> None:
        relays.cuts.append(standing)
        relays.end_cut_connections()

    relays.call(begin)
    return fault


def test_an_open_gate_leads_to_its_node_and_a_shut_one_refuses(relays: Relays, gate: Gate) -> None:
    with connect(gate) as client:
        client.sendall(b"hello")
        assert client.recv(100) == b"hello"

        relays.shut(gate)
        client.sendall(b"still here")
        assert client.recv(100) == b"still here"
    with pytest.raises(ConnectionRefusedError):
        connect(gate)

    relays.open(gate)
    with connect(gate) as client:
        client.sendall(b"again")
        assert client.recv(100) == b"again"


def test_what_was_sent_before_the_end_arrives(gate: Gate) -> None:
    with connect(gate) as client:
        client.sendall(b"last words")
        client.shutdown(socket.SHUT_WR)

        assert b"".join(iter(lambda: client.recv(100), b"")) == b"last words"


def test_a_cut_ends_connections_and_those_that_come(relays: Relays, gate: Gate) -> None:
    with connect(gate) as client:
        client.sendall(b"hello")
        client.recv(100)
        fault = cut(relays, silent=False)
        assert is_ended(client)
    with connect(gate) as client:
        assert is_ended(client)
    fault.lift()
    with connect(gate) as client:
        client.sendall(b"hello")
        assert client.recv(100) == b"hello"


def is_ended(client: socket.socket) -> bool:
    try:
        return client.recv(100) == b""
    except ConnectionResetError:
        return True


def test_a_silent_cut_holds_what_is_said_until_it_is_lifted(relays: Relays, gate: Gate) -> None:
    with connect(gate) as client:
        client.sendall(b"hello")
        client.recv(100)
        fault = cut(relays, silent=True)
        client.sendall(b"do you hear me?")
        fault.wait_hits(1, PATIENCE_S)
        fault.lift()

        assert client.recv(100) == b"do you hear me?"


def test_a_node_that_does_not_listen_ends_the_connection(relays: Relays) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        host, port = taken.getsockname()
    gate = Gate(NODE, (host, port), is_raw=True)
    relays.open(gate)

    with connect(gate) as client:
        assert is_ended(client)


def test_a_trigger_acts_once(relays: Relays) -> None:
    acted: list[int] = []
    fault = Fault("a trigger")
    always = Condition("always", lambda traffic: True)
    relays.call(lambda: relays.triggers.append(Trigger(fault, lambda: acted.append(1), always)))

    relays.call(relays.noted)
    relays.call(relays.noted)

    assert acted == [1]
    assert fault.hits == 1


@pytest.mark.parametrize("does", ["lifts it", "looks again"])
def test_a_trigger_that_another_one_has_dealt_with_is_not_due_any_more(
    relays: Relays, does: str
) -> None:
    acted: list[int] = []
    always = Condition("always", lambda traffic: True)
    second = Trigger(Fault("second"), lambda: acted.append(2), always)

    def first_acts() -> None:
        acted.append(1)
        if does == "lifts it":
            relays.triggers.remove(second)
        else:
            relays.noted()

    first = Trigger(Fault("first"), first_acts, always)
    relays.call(lambda: relays.triggers.extend([first, second]))

    relays.call(relays.noted)

    assert acted == ([1] if does == "lifts it" else [1, 2])
    assert first.fault.hits == 1


def test_what_is_asked_of_the_relays_fails_where_it_was_asked(relays: Relays) -> None:
    with pytest.raises(ZeroDivisionError):
        relays.call(lambda: 1 // 0)


def test_relays_that_failed_are_not_closed_as_if_nothing_were() -> None:
    relays = Relays()
    relays.start()
    relays.failures.append(ValueError("a bug"))

    with pytest.raises(RuntimeError, match="1 relays failed"):
        relays.close()
