"""Sockets for the configured listeners, bound before anything else is touched.

A port that is taken is the commonest reason why a broker cannot start: it is found out first, and
said in one line.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from barnabas.base.settings import ConfigError
from barnabas.broker.listeners import BoundListener

if TYPE_CHECKING:
    from collections.abc import Callable

    from barnabas.base.settings import BrokerConfig, Listener

SERVED = frozenset({"PLAINTEXT"})


class CannotListen(Exception):  # noqa: N818 (says what happened)
    """A listener could not be bound; the message is one line for the operator."""


@dataclass(frozen=True, slots=True)
class Binding:
    """A bound socket, not yet accepting, and what is told about it."""

    sock: socket.socket
    listener: BoundListener


def bind_listeners(
    config: BrokerConfig, *, bind: Callable[[Listener], socket.socket] | None = None
) -> list[Binding]:
    """Bind every listener, or none.  `bind` makes the sockets; without it, the OS.

    The listeners of the controller are bound where there is one.
    """
    bind = bind or _bind
    resolved = config.listeners()
    if config.str("authorizer.class.name"):
        raise ConfigError(
            "Invalid value for authorizer.class.name: this version has no access control, and will "
            "not pretend to. Remove the setting to let every client do everything."
        )
    advertised = {listener.name: listener for listener in resolved.advertised}
    controllers = resolved.controller if "controller" in config.list("process.roles") else ()
    bound: list[Binding] = []
    try:
        for listener in (*resolved.broker, *controllers):
            protocol = resolved.protocols[listener.name]
            if protocol not in SERVED:
                raise ConfigError(
                    f"Invalid listeners: {listener} is {protocol}; "
                    f"this version serves {', '.join(sorted(SERVED))}."
                )
            sock = bind(listener)
            told = _told(sock, listener, protocol, advertised)
            bound.append(Binding(sock, replace(told, is_controllers=listener in controllers)))
    except BaseException:
        for binding in bound:
            binding.sock.close()
        raise
    return bound


def _bind(listener: Listener) -> socket.socket:
    try:
        if not listener.host:
            return _every_interface(listener.port)
        family, _, _, _, address = socket.getaddrinfo(
            listener.host, listener.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        return _socket(family, address)
    except socket.gaierror as error:
        raise CannotListen(f"cannot listen on {listener}: {error.strerror}") from error
    except OSError as error:
        hint = " Is another broker running?" if error.errno == 98 else ""
        raise CannotListen(f"cannot listen on {listener}: {error.strerror}.{hint}") from error


def _every_interface(port: int) -> socket.socket:
    """IPv6 and IPv4 on one socket where the machine has both."""
    if not socket.has_dualstack_ipv6():
        return _socket(socket.AF_INET, ("0.0.0.0", port))
    sock = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(("::", port))
    except BaseException:
        sock.close()
        raise
    return sock


def _socket(family: socket.AddressFamily | int, address: tuple[object, ...]) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
    except BaseException:
        sock.close()
        raise
    return sock


def _told(
    sock: socket.socket, listener: Listener, protocol: str, advertised: dict[str, Listener]
) -> BoundListener:
    port = sock.getsockname()[1]
    told = advertised.get(listener.name, listener)
    # Nothing configured and every interface bound: this machine's name is the best there is.
    host = told.host or socket.getfqdn()
    return BoundListener(
        name=listener.name,
        security_protocol=protocol,
        host=listener.host or "0.0.0.0",
        port=port,
        advertised_host=host,
        advertised_port=told.port or port,
    )
