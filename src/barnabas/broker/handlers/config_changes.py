"""What AlterConfigs and IncrementalAlterConfigs have in common.

The broker refuses what is malformed and what is another broker's, and sets its own log levels; the
controller decides and stores the rest.  Each resource succeeds or fails by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from barnabas.base.errors import InvalidRequest
from barnabas.broker.handlers.shared import explained
from barnabas.controller.image_types import ResourceType

if TYPE_CHECKING:
    from barnabas.broker.state import Broker

ALL_BROKERS = ""


class Resource(Protocol):
    """A resource of either request."""

    resource_type: int
    resource_name: str

    @property
    def configs(self) -> Sequence[Named]: ...


class Named(Protocol):
    """One setting of a resource."""

    name: str


class Answered(Protocol):
    """What became of one resource, in either response."""

    error_code: int
    error_message: str | None
    resource_type: int
    resource_name: str


class Outcome(NamedTuple):
    code: int = 0
    message: str | None = None


R = TypeVar("R", bound=Resource)


def screen(
    resources: Sequence[R], check: Callable[[R], bool]
) -> tuple[list[Outcome | None], list[R]]:
    """The outcomes that are known here, None for the others, and those others.

    `check` raises for a resource that is refused, and says whether it is for the controller.
    """
    times = Counter((r.resource_type, r.resource_name) for r in resources)
    outcomes: list[Outcome | None] = []
    remaining = []
    for resource in resources:
        try:
            if times[resource.resource_type, resource.resource_name] > 1:
                raise InvalidRequest("A resource can be changed only once in a request.")
            if len({config.name for config in resource.configs}) < len(resource.configs):
                raise InvalidRequest("A setting can be changed only once in a request.")
            if check(resource):
                outcomes.append(None)
                remaining.append(resource)
            else:
                outcomes.append(Outcome())
        except Exception as error:
            code, text = explained(error, f"a change of {resource.resource_name}'s settings")
            outcomes.append(Outcome(int(code), text))
    return outcomes, remaining


def merge(
    resources: Sequence[Resource],
    outcomes: Sequence[Outcome | None],
    answered: Iterable[Answered],
) -> list[Outcome]:
    """Our outcomes and the controller's, in the order of the request."""
    decided = {
        (each.resource_type, each.resource_name): Outcome(
            each.error_code, each.error_message or None
        )
        for each in answered
    }
    return [
        decided[resource.resource_type, resource.resource_name] if outcome is None else outcome
        for resource, outcome in zip(resources, outcomes, strict=True)
    ]


def check_kind(broker: Broker, resource: Resource) -> None:
    """Refuse resources that have no settings, and brokers that are not this one."""
    match resource.resource_type:
        case ResourceType.TOPIC:
            return
        case ResourceType.BROKER:
            if resource.resource_name != ALL_BROKERS:
                check_own(broker, resource.resource_name)
        case _:
            raise InvalidRequest(f"Resource type {resource.resource_type} has no settings here.")


def check_own(broker: Broker, name: str) -> None:
    """A broker is configured through itself: only it knows whether a value works there."""
    if name != str(broker.node_id):
        raise InvalidRequest(f"This is broker {broker.node_id}: it cannot answer for {name!r}.")
