"""Listeners: what `listeners`, `advertised.listeners` and the protocol map say.

Text in, values out: nothing here resolves a name or opens a socket.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from barnabas.base.settings.model import ConfigError

_LISTENER = r"(.*)://(?:\[([0-9a-zA-Z%.:]*)\]|([0-9a-zA-Z\-%._]*)):([0-9]+)"
_EVERY_INTERFACE = ("0.0.0.0", "::", "0:0:0:0:0:0:0:0")

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")


class Listener(NamedTuple):
    """A name, and where it listens or is reached."""

    name: str
    host: str
    """Without brackets.  Empty: listens on every interface; as an advertised one, this machine."""
    port: int
    """0: any free port."""

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.name}://{host}:{self.port}"


def parse_listeners(text: str | Iterable[str], setting: str = "listeners") -> list[Listener]:
    """The listeners of a comma-separated text, or of items already split.

    Names become upper case.  A name given twice is refused, and so is a port given twice, except
    for an IPv4 and an IPv6 address that share it, and except for port 0.
    """
    items = text.split(",") if isinstance(text, str) else text
    found = [_parse(item.strip(), setting) for item in items]
    names: set[str] = set()
    for listener in found:
        if listener.name in names:
            raise ConfigError(f"Invalid {setting}: the name {listener.name} is given twice.")
        names.add(listener.name)
    if setting == "listeners":
        _refuse_shared_ports(found)
    return found


def _parse(item: str, setting: str) -> Listener:
    match = re.fullmatch(_LISTENER, item)
    if match is None or not match[1]:
        raise ConfigError(f"Invalid {setting}: {item!r} is not of the form name://host:port.")
    name, bracketed, plain, port = match.groups()
    if int(port) > 65535:
        raise ConfigError(f"Invalid {setting}: the port of {item!r} is above 65535.")
    return Listener(name.upper(), bracketed or plain or "", int(port))


def _refuse_shared_ports(listeners: list[Listener]) -> None:
    by_port: dict[int, list[str]] = {}
    for listener in listeners:
        hosts = by_port.setdefault(listener.port, [])
        hosts.append(listener.host)
        if listener.port == 0 or len(hosts) == 1:
            continue
        if len(hosts) > 2 or (":" in hosts[0]) == (":" in hosts[1]) or "" in hosts:
            raise ConfigError(f"Invalid listeners: the port {listener.port} is given twice.")


def parse_protocol_map(text: str) -> dict[str, str]:
    """`listener.security.protocol.map`: the security protocol of each listener name."""
    setting = "listener.security.protocol.map"
    found: dict[str, str] = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        name, colon, protocol = (part.strip() for part in item.rpartition(":"))
        if not colon or not name:
            raise ConfigError(f"Invalid {setting}: {item!r} is not of the form name:protocol.")
        if protocol.upper() not in PROTOCOLS:
            raise ConfigError(f"Invalid {setting}: there is no security protocol {protocol!r}.")
        if name.upper() in found:
            raise ConfigError(f"Invalid {setting}: the name {name} is given twice.")
        found[name.upper()] = protocol.upper()
    return found


class Listeners(NamedTuple):
    """The listeners of a node, checked against each other."""

    broker: tuple[Listener, ...]
    """Where clients and other brokers connect."""
    controller: tuple[Listener, ...]
    """Where brokers reach this node's controller, if it has one."""
    advertised: tuple[Listener, ...]
    """What clients are told; a listener of `broker` that is missing here is not told to anyone."""
    protocols: Mapping[str, str]
    """The security protocol of each listener, by name."""
    inter_broker: str
    """The name of the listener over which brokers talk to each other."""


def resolve_listeners(
    *,
    listeners: Iterable[str],
    advertised: Iterable[str] | None,
    protocol_map: str,
    controller_names: Iterable[str] = (),
    inter_broker_name: str | None = None,
    inter_broker_protocol: str = "PLAINTEXT",
) -> Listeners:
    """Puts the settings about listeners together; `ConfigError` if they contradict each other."""
    every = parse_listeners(listeners)
    of_controller = {name.upper() for name in controller_names}
    broker = tuple(one for one in every if one.name not in of_controller)
    names = {one.name for one in broker}
    protocols = parse_protocol_map(protocol_map)
    protocols.update((name, "PLAINTEXT") for name in of_controller if name not in protocols)
    for one in every:
        if one.name not in protocols:
            raise ConfigError(
                f"Invalid listeners: listener.security.protocol.map says nothing of {one.name}."
            )
    told = broker if advertised is None else _advertised(advertised, of_controller)
    for one in told:
        if one.host in _EVERY_INTERFACE:
            raise ConfigError(
                f"Invalid advertised.listeners: nobody can connect to {one.host}. "
                "Set advertised.listeners to an address that clients can reach."
            )
        if one.name not in names:
            raise ConfigError(f"Invalid advertised.listeners: no listener is called {one.name}.")
    inter_broker = _inter_broker(broker, protocols, inter_broker_name, inter_broker_protocol)
    if told and inter_broker and inter_broker not in {one.name for one in told}:
        raise ConfigError(f"Invalid advertised.listeners: {inter_broker}, for brokers, is missing.")
    return Listeners(
        broker=broker,
        controller=tuple(one for one in every if one.name in of_controller),
        advertised=told,
        protocols=protocols,
        inter_broker=inter_broker,
    )


def _advertised(items: Iterable[str], of_controller: set[str]) -> tuple[Listener, ...]:
    parsed = parse_listeners(items, "advertised.listeners")
    return tuple(one for one in parsed if one.name not in of_controller)


def _inter_broker(
    broker: tuple[Listener, ...], protocols: Mapping[str, str], name: str | None, protocol: str
) -> str:
    """By its name, else the one that is called like the protocol, else the first that speaks it."""
    if not broker:
        return ""
    if name is not None:
        if name.upper() not in {one.name for one in broker}:
            raise ConfigError(f"Invalid inter.broker.listener.name: no listener is called {name}.")
        return name.upper()
    if any(one.name == protocol for one in broker):
        return protocol
    speakers = [one.name for one in broker if protocols[one.name] == protocol]
    return speakers[0] if speakers else broker[0].name
