"""Whether a process is dead: its machine is there, and refuses connections to its port.

That is more than a connection that broke, or silence.  It is no proof (somebody may listen there a
moment later, and a firewall can refuse, too), so that nothing may rest on it but speed.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.client.node_connection import Address

PROBE_S_MAX = 2.0
"""A machine that is there refuses or accepts a connection within this time."""

AGAIN_S = 0.2
"""A port that refuses connections is tried once more after this time."""
DYING_S = 0.05
"""Of a process that was killed this moment ago the operating system may still accept some."""


async def is_dead(
    loop: asyncio.AbstractEventLoop, addresses: Sequence[Address], *, grace_s: float
) -> bool:
    """Whether a process that listened there is dead, by all that can be known within a moment:
    `AGAIN_S`, or `grace_s` if that is shorter."""
    if not addresses:
        return False
    if not await _all_refuse(loop, addresses):
        await asyncio.sleep(min(grace_s, DYING_S))
        if not await _all_refuse(loop, addresses):
            return False
    await asyncio.sleep(min(grace_s, AGAIN_S))
    return await _all_refuse(loop, addresses)


async def _all_refuse(loop: asyncio.AbstractEventLoop, addresses: Sequence[Address]) -> bool:
    for address in addresses:
        if not await refuses(loop, address):
            return False
    return True


async def refuses(loop: asyncio.AbstractEventLoop, address: Address) -> bool:
    """Whether nobody listens at any of the addresses that this one stands for.

    Silence proves nothing, and neither does an address that cannot be reached from here, such as
    one of a family that this machine does not speak.
    """
    try:
        async with asyncio.timeout(PROBE_S_MAX):
            host, port = address
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            refusals = [await _refuses(loop, (str(entry[4][0]), port)) for entry in found]
    except (OSError, TimeoutError):
        return False
    return True in refusals and False not in refusals


async def _refuses(loop: asyncio.AbstractEventLoop, address: tuple[str, int]) -> bool | None:
    """None if there is no way there."""
    try:
        transport, _ = await loop.create_connection(asyncio.Protocol, *address)
    except ConnectionRefusedError:
        return True
    except OSError:
        return None
    transport.close()
    return False
