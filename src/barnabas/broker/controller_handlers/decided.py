"""Every request that the controller decides, answered on its listeners: passed on as it came.

What a broker does around these (the words of old versions, log levels) it has done before it passes
them on; an administrator who speaks to the controller directly uses today's versions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.dispatch import CONTROLLER_HANDLERS, Later, RequestContext, handles
from barnabas.controller import decider
from barnabas.protocol.apis import CONTROLLER, ApiKey, api

if TYPE_CHECKING:
    from barnabas.broker.controller_part import ControllerPart
    from barnabas.protocol.message import Message


def register_decided() -> None:
    """Complete the table: those that have no handler of their own."""
    for key in decider.decided_keys():
        if key not in CONTROLLER_HANDLERS:
            versions = api(ApiKey(key)).stable
            handles(ApiKey(key), versions=(versions[0], versions[-1]), on=CONTROLLER)(_decided)


def _decided(part: ControllerPart, ctx: RequestContext, request: Message) -> Later:
    later = Later()
    part.submit(request, later.resolve)
    return later
