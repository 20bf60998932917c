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
    InvalidRequest,
    UnsupportedVersion,
    code_for,
)
from barnabas.base.ids import id_text
from barnabas.controller.decider.broker_epochs import check_epoch
from barnabas.controller.decider.decision import Decision, Environment
from barnabas.controller.decider.elections import broker_comes, broker_goes, directories_fail
from barnabas.controller.image_types import BrokerImage
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

_FENCE, _UNFENCE = 1, -1


# Registration


def decide_registration(
    image: ClusterImage, request: BrokerRegistrationRequest, now_ms: int, env: Environment
) -> Decision:
    """A broker that starts says who it is, and is fenced until its first heartbeats.

    Its epoch is the offset of the record.  Whatever an earlier process with the same id led or had
    in sync is taken from it first: that process is gone.  Unless it says the epoch in which it was
    shut down cleanly, perhaps some of its data is gone, too.
    """
    old = image.brokers.get(request.broker_id)
    try:
        _check_registration(image, request, now_ms, env)
    except ApiError as error:
        return Decision(response=refuse_registration(request, error))
    if old is not None and old.incarnation_id == request.incarnation_id:
        # The same process asks again, because it has not seen the answer.
        record = _registration_record(request, old.epoch)
        record.fenced, record.in_controlled_shutdown = old.fenced, old.in_controlled_shutdown
        return _registered(record)
    changes: tuple[Message, ...] = ()
    if old is not None:
        uncleanly = request.previous_broker_epoch != old.epoch
        changes = tuple(broker_goes(image, old.id, env, uncleanly=uncleanly))
    epoch = image.applied_offset + len(changes) + 1
    return _registered(_registration_record(request, epoch), changes)


def _registered(record: RegisterBrokerRecord, before: tuple[Message, ...] = ()) -> Decision:
    response = BrokerRegistrationResponse(broker_epoch=record.broker_epoch)
    return Decision(records=(*before, record), response=response)


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
    _check_features(image, request)
    _check_directories(image, request)
    if _is_taken(image, request, now_ms, env):
        raise DuplicateBrokerRegistration(
            f"Another process is broker {request.broker_id}; if it has just died, its session "
            "ends soon."
        )


def _is_taken(
    image: ClusterImage, request: BrokerRegistrationRequest, now_ms: int, env: Environment
) -> bool:
    """Whether another process is known by that id: a broker that lives, or this controller."""
    if request.broker_id == env.config.node_id and "broker" not in env.config.list("process.roles"):
        return True
    old = image.brokers.get(request.broker_id)
    return (
        old is not None
        and old.incarnation_id != request.incarnation_id
        and not old.in_controlled_shutdown
        and env.sessions.is_live(request.broker_id, now_ms)
    )


def _check_features(image: ClusterImage, request: BrokerRegistrationRequest) -> None:
    """A broker has to work with what the cluster already uses."""
    for feature in request.features:
        level = image.features.get(feature.name, 0)
        if level and not feature.min_supported_version <= level <= feature.max_supported_version:
            raise UnsupportedVersion(
                f"Unable to register because the broker does not support finalized version {level} "
                f"of {feature.name}. The broker wants a version between "
                f"{feature.min_supported_version} and {feature.max_supported_version}, inclusive."
            )


def _check_directories(image: ClusterImage, request: BrokerRegistrationRequest) -> None:
    """A log directory belongs to one broker: a copied disk must not answer for the original."""
    wanted = set(request.log_dirs)
    if len(wanted) < len(request.log_dirs):
        raise InvalidRegistration(f"Broker {request.broker_id} names a log directory twice.")
    for broker in image.brokers.values():
        shared = wanted.intersection(broker.log_dirs)
        if broker.id != request.broker_id and shared:
            raise InvalidRegistration(
                f"Broker {broker.id} already has the log directory {id_text(min(shared))}."
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

    A broker that wants to shut down first loses its partitions to others; it is fenced and told to
    go when every other broker has heard who leads now.  Once on its way out it does not come back:
    that takes a new registration.
    """
    try:
        broker = check_epoch(image, request.broker_id, request.broker_epoch)
    except ApiError as error:
        return Decision(response=refuse_heartbeat(request, error))
    caught_up = request.current_metadata_offset >= broker.epoch
    fenced, leave = broker.fenced, False
    stays = not (request.want_fence or request.want_shut_down or broker.in_controlled_shutdown)
    failed = frozenset(request.offline_log_dirs).intersection(broker.log_dirs)
    records: list[Message] = []
    if failed:
        records += _directory_records(image, broker, failed, env if stays else None)
    if broker.fenced:
        leave = request.want_shut_down
        if caught_up and stays and not failed:
            fenced = False
            records += _unfence_records(image, broker, env)
    elif request.want_fence:
        fenced, leave = True, request.want_shut_down
        records += _fence_records(image, broker, env)
    elif request.want_shut_down or broker.in_controlled_shutdown:
        if broker.in_controlled_shutdown:
            leave = _others_know(image, broker, env)
        else:
            leave = not _has_work_for_others(image, broker.id)
        if leave:
            fenced = True
            records += _fence_records(image, broker, env)
        elif not broker.in_controlled_shutdown:
            records += _shutdown_records(image, broker, env)
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


def _others_know(image: ClusterImage, broker: BrokerImage, env: Environment) -> bool:
    """Whether every active broker has applied what was decided when this one began to leave."""
    since = env.sessions.leaving_since(broker.id)
    return since is not None and all(
        env.sessions.metadata_offset(other.id) >= since for other in image.active_brokers()
    )


def _directory_records(
    image: ClusterImage, broker: BrokerImage, failed: frozenset[bytes], env: Environment | None
) -> Iterator[Message]:
    """Log directories that have failed: if the broker stays, what is in them is led by others."""
    if env is not None and not broker.fenced:
        yield from directories_fail(image, broker.id, failed, env)
    left = [directory for directory in broker.log_dirs if directory not in failed]
    if left:  # without any, the broker stops by itself
        yield BrokerRegistrationChangeRecord(
            broker_id=broker.id, broker_epoch=broker.epoch, log_dirs=left
        )


def decide_fence(image: ClusterImage, broker_id: int, env: Environment) -> Decision:
    """A broker whose session is over loses its partitions until it is heard of again."""
    broker = image.brokers.get(broker_id)
    records: list[Message] = []
    if broker is not None and not broker.fenced:
        records += _fence_records(image, broker, env)
    return Decision(records=tuple(records), response=BrokerHeartbeatResponse(is_fenced=True))


def _shutdown_records(
    image: ClusterImage, broker: BrokerImage, env: Environment
) -> Iterator[Message]:
    yield BrokerRegistrationChangeRecord(
        broker_id=broker.id, broker_epoch=broker.epoch, in_controlled_shutdown=1
    )
    yield from broker_goes(image, broker.id, env)


def _fence_records(image: ClusterImage, broker: BrokerImage, env: Environment) -> Iterator[Message]:
    yield from broker_goes(image, broker.id, env)
    yield BrokerRegistrationChangeRecord(
        broker_id=broker.id, broker_epoch=broker.epoch, fenced=_FENCE
    )


def _unfence_records(
    image: ClusterImage, broker: BrokerImage, env: Environment
) -> Iterator[Message]:
    yield BrokerRegistrationChangeRecord(
        broker_id=broker.id, broker_epoch=broker.epoch, fenced=_UNFENCE
    )
    yield from broker_comes(image, broker.id, env)


# Unregistration


def decide_unregister(
    image: ClusterImage, request: UnregisterBrokerRequest, now_ms: int, env: Environment
) -> Decision:
    """Forget a broker.  Its replicas stay assigned to it, but none is eligible to lead any more: if
    it comes back, nobody knows whether it still has all that it had.

    The node that decides this is there, and as its own controller it would not register again: it
    refuses to forget itself."""
    broker = image.brokers.get(request.broker_id)
    if broker is None:
        error = BrokerIdNotRegistered(f"Broker ID {request.broker_id} is not currently registered")
        return Decision(response=refuse_unregister(request, error))
    if broker.id == env.config.node_id:
        own = InvalidRequest(f"Broker {broker.id} is the active controller: stop it first.")
        return Decision(response=refuse_unregister(request, own))
    records: list[Message] = [
        *broker_goes(image, broker.id, env, uncleanly=True),
        UnregisterBrokerRecord(broker_id=broker.id, broker_epoch=broker.epoch),
    ]
    return Decision(records=tuple(records), response=UnregisterBrokerResponse(error_message=None))


def refuse_unregister(
    request: UnregisterBrokerRequest, error: Exception
) -> UnregisterBrokerResponse:
    """The answer when nothing of the request could be done."""
    message = error.message if isinstance(error, ApiError) else None
    return UnregisterBrokerResponse(error_code=code_for(error), error_message=message)
