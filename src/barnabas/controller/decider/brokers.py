"""Brokers register, stay alive by heartbeats, shut down, are fenced and unregistered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from barnabas.base.errors import (
    ApiError,
    BrokerIdNotRegistered,
    DuplicateBrokerRegistration,
    ErrorCode,
    InconsistentClusterId,
    InvalidRegistration,
    code_for,
)
from barnabas.base.settings import TOPIC_SETTINGS, topic_defaults
from barnabas.controller.decider.broker_epochs import check_epoch
from barnabas.controller.decider.decision import Decision, Environment
from barnabas.controller.decider.elections import broker_comes, broker_goes
from barnabas.controller.image_types import BrokerImage, TopicImage
from barnabas.protocol.messages.broker_heartbeat import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
)
from barnabas.protocol.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from barnabas.protocol.messages.metadata_records import (
    BrokerEndpoint,
    BrokerFeature,
    BrokerRegistrationChangeRecord,
    RegisterBrokerRecord,
    UnregisterBrokerRecord,
)
from barnabas.protocol.messages.unregister_broker import (
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)

if TYPE_CHECKING:
    from barnabas.controller.image import ClusterImage
    from barnabas.protocol.message import Message

_UNCLEAN = TOPIC_SETTINGS["unclean.leader.election.enable"]
_FENCE, _UNFENCE = 1, -1


# Registration


def decide_registration(
    image: ClusterImage, request: BrokerRegistrationRequest, now_ms: int, env: Environment
) -> Decision:
    """A broker that starts says who it is, and is fenced until its first heartbeats.

    Its epoch is the offset of the record.  Whatever an earlier process with the same id led or had
    in sync is taken from it first: that process is gone, and perhaps some of its data.
    """
    old = image.brokers.get(request.broker_id)
    try:
        _check_registration(image, request, now_ms, env)
    except ApiError as error:
        return Decision(response=refuse_registration(request, error))
    records: list[Message] = []
    epoch = image.applied_offset + 1
    if old is not None and old.incarnation_id == request.incarnation_id:
        epoch = old.epoch  # the same process, asking again
    elif old is not None and not old.fenced:
        records += _fence_records(image, old, env)
    if old is None or epoch != old.epoch:
        epoch += len(records)
    records.append(_registration_record(request, epoch))
    return Decision(records=tuple(records), response=BrokerRegistrationResponse(broker_epoch=epoch))


def _check_registration(
    image: ClusterImage, request: BrokerRegistrationRequest, now_ms: int, env: Environment
) -> None:
    if request.cluster_id != image.cluster_id:
        raise InconsistentClusterId(
            f"Expected cluster ID {image.cluster_id}, but got cluster ID {request.cluster_id}"
        )
    if request.broker_id < 0:
        raise InvalidRegistration(f"Broker {request.broker_id} has a negative id.")
    if not request.listeners:
        raise InvalidRegistration(f"Broker {request.broker_id} has no listeners.")
    old = image.brokers.get(request.broker_id)
    if (
        old is not None
        and old.incarnation_id != request.incarnation_id
        and env.sessions.is_live(request.broker_id, now_ms)
    ):
        raise DuplicateBrokerRegistration(
            f"Another process is broker {request.broker_id}; if it has just died, its session "
            "ends soon."
        )


def _registration_record(request: BrokerRegistrationRequest, epoch: int) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=request.broker_id,
        incarnation_id=request.incarnation_id,
        broker_epoch=epoch,
        end_points=[
            BrokerEndpoint(
                name=listener.name,
                host=listener.host,
                port=listener.port,
                security_protocol=listener.security_protocol,
            )
            for listener in request.listeners
        ],
        features=[
            BrokerFeature(
                name=feature.name,
                min_supported_version=feature.min_supported_version,
                max_supported_version=feature.max_supported_version,
            )
            for feature in request.features
        ],
        rack=request.rack,
        fenced=True,
        in_controlled_shutdown=False,
        log_dirs=list(request.log_dirs),
    )


def refuse_registration(
    request: BrokerRegistrationRequest, error: Exception
) -> BrokerRegistrationResponse:
    """The answer when nothing of the request could be done."""
    return BrokerRegistrationResponse(error_code=code_for(error), broker_epoch=-1)


# Heartbeats


def decide_heartbeat(
    image: ClusterImage, request: BrokerHeartbeatRequest, now_ms: int, env: Environment
) -> Decision:
    """A fenced broker that has caught up is let in; one that wants to go is let go in order.

    A broker that wants to shut down first loses its partitions to others and waits until nobody
    needs it; then it is fenced and told to go.
    """
    try:
        broker = check_epoch(image, request.broker_id, request.broker_epoch)
    except ApiError as error:
        return Decision(response=refuse_heartbeat(request, error))
    caught_up = request.current_metadata_offset >= broker.epoch
    fenced, leave = broker.fenced, False
    records: list[Message] = []
    if broker.fenced:
        leave = request.want_shut_down
        if caught_up and not request.want_fence and not request.want_shut_down:
            fenced = False
            records += _unfence_records(image, broker, env)
    elif request.want_fence:
        fenced, leave = True, request.want_shut_down
        records += _fence_records(image, broker, env)
    elif request.want_shut_down:
        if not broker.in_controlled_shutdown and _has_work_for_others(image, broker.id):
            records += broker_goes(image, broker.id, unclean=_unclean(image, env))
            records.append(
                BrokerRegistrationChangeRecord(
                    broker_id=broker.id, broker_epoch=broker.epoch, in_controlled_shutdown=1
                )
            )
        else:
            fenced = leave = True
            records += _fence_records(image, broker, env)
    return Decision(
        records=tuple(records),
        response=BrokerHeartbeatResponse(
            error_code=ErrorCode.NONE,
            is_caught_up=caught_up,
            is_fenced=fenced,
            should_shut_down=leave,
        ),
    )


def refuse_heartbeat(request: BrokerHeartbeatRequest, error: Exception) -> BrokerHeartbeatResponse:
    """The answer when nothing of the request could be done."""
    return BrokerHeartbeatResponse(error_code=code_for(error))


def _has_work_for_others(image: ClusterImage, broker_id: int) -> bool:
    """Whether the broker leads a partition that another broker could lead."""
    return any(
        partition.leader == broker_id and len(partition.isr) > 1
        for topic in image.topics.values()
        for partition in topic.partitions
    )


def decide_fence(image: ClusterImage, broker_id: int, env: Environment) -> Decision:
    """A broker whose session is over loses its partitions until it is heard of again."""
    broker = image.brokers.get(broker_id)
    records: list[Message] = []
    if broker is not None and not broker.fenced:
        records += _fence_records(image, broker, env)
    return Decision(records=tuple(records), response=BrokerHeartbeatResponse(is_fenced=True))


def _fence_records(image: ClusterImage, broker: BrokerImage, env: Environment) -> Iterator[Message]:
    yield from broker_goes(image, broker.id, unclean=_unclean(image, env))
    yield BrokerRegistrationChangeRecord(
        broker_id=broker.id, broker_epoch=broker.epoch, fenced=_FENCE
    )


def _unfence_records(
    image: ClusterImage, broker: BrokerImage, env: Environment
) -> Iterator[Message]:
    yield BrokerRegistrationChangeRecord(
        broker_id=broker.id, broker_epoch=broker.epoch, fenced=_UNFENCE
    )
    yield from broker_comes(image, broker.id, unclean=_unclean(image, env))


class _unclean:  # noqa: N801 (a function that remembers the default)
    """Whether a topic allows a leader that was not in sync."""

    __slots__ = ("_default", "_image")

    def __init__(self, image: ClusterImage, env: Environment) -> None:
        self._image = image
        self._default = topic_defaults(env.effective_config(image)).unclean_leader_election_enable

    def __call__(self, topic: TopicImage) -> bool:
        text = self._image.topic_config(topic.name).get(_UNCLEAN.name)
        return self._default if text is None else bool(_UNCLEAN.parse(text))


# Unregistration


def decide_unregister(
    image: ClusterImage, request: UnregisterBrokerRequest, now_ms: int, env: Environment
) -> Decision:
    """Forget a broker.  Its replicas stay assigned to it: nobody else has that data."""
    broker = image.brokers.get(request.broker_id)
    if broker is None:
        error = BrokerIdNotRegistered(f"Broker ID {request.broker_id} is not currently registered")
        return Decision(response=refuse_unregister(request, error))
    records: list[Message] = [
        *broker_goes(image, broker.id, unclean=_unclean(image, env)),
        UnregisterBrokerRecord(broker_id=broker.id, broker_epoch=broker.epoch),
    ]
    return Decision(records=tuple(records), response=UnregisterBrokerResponse(error_message=None))


def refuse_unregister(
    request: UnregisterBrokerRequest, error: Exception
) -> UnregisterBrokerResponse:
    """The answer when nothing of the request could be done."""
    message = error.message if isinstance(error, ApiError) else None
    return UnregisterBrokerResponse(error_code=code_for(error), error_message=message)
