"""What clients are told when a coordinator cannot write."""

from __future__ import annotations

from barnabas.base.errors import (
    ApiError,
    CoordinatorNotAvailable,
    ErrorCode,
    NotCoordinator,
    UnknownServerError,
    code_for,
)

_NOT_AVAILABLE = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.REQUEST_TIMED_OUT,
    }
)
_NOT_HERE = frozenset({ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.KAFKA_STORAGE_ERROR})


def append_error(error: Exception) -> ApiError:
    """What the client of a coordinator is told when the coordinator cannot write."""
    code = code_for(error)
    if code in _NOT_AVAILABLE:
        return CoordinatorNotAvailable(str(error))
    if code in _NOT_HERE:
        return NotCoordinator(str(error))
    if isinstance(error, ApiError):
        return error
    return UnknownServerError()
