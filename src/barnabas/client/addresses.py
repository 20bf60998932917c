"""`host:port,host:port` lists, and whether anybody listens there."""

from __future__ import annotations

DEFAULT_PORT = 9092


def parse_servers(text: str) -> list[tuple[str, int]]:
    """The addresses of a bootstrap list, in order.  ValueError says which one is wrong.

    A listener name in front (`PLAINTEXT://host:port`) is allowed, as librdkafka allows it.
    """
    servers = [_parse(part.strip()) for part in text.split(",") if part.strip()]
    if not servers:
        raise ValueError(f'"{text}" names no broker; expected host:port')
    return servers


def _parse(part: str) -> tuple[str, int]:
    address = part.rpartition("://")[2]
    if address.startswith("["):
        host, _, rest = address[1:].partition("]")
        port_text = rest.removeprefix(":") if rest else str(DEFAULT_PORT)
    elif address.count(":") > 1:  # an IPv6 address without brackets, hence without a port
        host, port_text = address, str(DEFAULT_PORT)
    else:
        host, colon, port_text = address.partition(":")
        port_text = port_text if colon else str(DEFAULT_PORT)
    if not host or not (port_text.isascii() and port_text.isdigit() and int(port_text) < 65536):
        raise ValueError(f'"{part}" is not host:port')
    return host, int(port_text)


def find_listening(servers: str, *, timeout_s: float) -> tuple[str, int] | None:
    """The first address at which a TCP connection can be made, None if there is none.

    A client library goes on trying for as long as it is let; this finds out at once that nobody is
    there, which is the most frequent trouble of all.
    """
    import socket

    for host, port in parse_servers(servers):
        try:
            socket.create_connection((host, port), timeout=timeout_s).close()
        except OSError:
            continue  # the next one; that all failed is the answer None
        return host, port
    return None


def unknown_hosts(servers: str) -> list[str]:
    """The hosts of a bootstrap list, if not one of them has an address; else nothing."""
    import socket

    hosts = [host for host, _ in parse_servers(servers)]
    for host in hosts:
        try:
            socket.getaddrinfo(host, None)
        except OSError:
            continue  # the next one; that none is known is the answer
        return []
    return hosts
