"""Deciders: pure functions from an image and a request to records and a response.

One module per API.  `decide` finds the right one; a module is imported when its API is first asked
for.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    from barnabas.controller.decider.decision import Decision, Environment
    from barnabas.controller.image import ClusterImage
    from barnabas.protocol.message import Message


class _Decider(NamedTuple):
    module: str
    decide: str = "decide"
    refuse: str = "refuse"


_DECIDERS: dict[int, _Decider] = {
    19: _Decider("create_topics"),
    20: _Decider("delete_topics"),
    33: _Decider("configs", "decide_legacy", "refuse_legacy"),
    37: _Decider("create_partitions"),
    43: _Decider("elect_leaders"),
    44: _Decider("configs", "decide_incremental", "refuse_incremental"),
    45: _Decider("reassignments"),
    46: _Decider("reassignments", "decide_list", "refuse_list"),
    49: _Decider("client_quotas"),
    51: _Decider("scram"),
    56: _Decider("alter_partition"),
    57: _Decider("features"),
    62: _Decider("brokers", "decide_registration", "refuse_registration"),
    63: _Decider("brokers", "decide_heartbeat", "refuse_heartbeat"),
    64: _Decider("brokers", "decide_unregister", "refuse_unregister"),
    67: _Decider("producer_ids"),
    73: _Decider("directories"),
}
"""By API key."""


def decided_keys() -> Iterable[int]:
    """The API keys of all requests for the controller."""
    return _DECIDERS.keys()


def can_decide(request: Message) -> bool:
    """Whether the request is one for the controller."""
    return request.api_key in _DECIDERS


def decide(image: ClusterImage, request: Message, now_ms: int, env: Environment) -> Decision:
    """What is to be done about `request`, given what is committed.  Changes nothing."""
    decider = _DECIDERS[request.api_key]
    function = getattr(import_module(f"{__name__}.{decider.module}"), decider.decide)
    return cast("Decision", function(image, request, now_ms, env))


def refuse(request: Message, error: Exception) -> Message:
    """The response that says of everything in `request` that it failed with `error`."""
    decider = _DECIDERS[request.api_key]
    function = getattr(import_module(f"{__name__}.{decider.module}"), decider.refuse)
    return cast("Message", function(request, error))
