"""What several handlers need: topic names, error codes of single items, authorized operations."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from barnabas.base.errors import ApiError, ErrorCode, InvalidRequest, InvalidTopic, code_for
from barnabas.controller.decider.names import check_name

if TYPE_CHECKING:
    from barnabas.broker.state import Broker

logger = logging.getLogger("barnabas.requests")

INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})

_READ, _WRITE, _CREATE, _DELETE, _ALTER, _DESCRIBE = range(3, 9)
_CLUSTER_ACTION, _DESCRIBE_CONFIGS, _ALTER_CONFIGS, _IDEMPOTENT_WRITE = range(9, 13)


def _bits(*operations: int) -> int:
    return sum(1 << operation for operation in operations)


# Without an authorizer everybody may do all that there is to do.
TOPIC_OPERATIONS = _bits(
    _READ, _WRITE, _CREATE, _DELETE, _ALTER, _DESCRIBE, _DESCRIBE_CONFIGS, _ALTER_CONFIGS
)
CLUSTER_OPERATIONS = _bits(
    _CREATE,
    _ALTER,
    _DESCRIBE,
    _CLUSTER_ACTION,
    _DESCRIBE_CONFIGS,
    _ALTER_CONFIGS,
    _IDEMPOTENT_WRITE,
)
OPERATIONS_NOT_ASKED = -(2**31)


def missing_topic(name: str) -> ErrorCode:
    """The code for a topic that is not there: whether it could be decides which."""
    try:
        check_name(name)
    except InvalidTopic as error:
        return error.code
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def failure(error: Exception, what: str) -> ErrorCode:
    """The code of one item's failure; a fault of our own is logged with its traceback."""
    if not isinstance(error, ApiError):
        logger.error("%s failed", what, exc_info=error)
    return code_for(error)


def explained(error: Exception, what: str) -> tuple[ErrorCode, str]:
    """Code and text of one item's failure.  The text of our own faults stays in our own log."""
    code = failure(error, what)
    return code, str(error) if isinstance(error, ApiError) else code.text


def check_own(broker: Broker, name: str) -> None:
    """`InvalidRequest` unless `name` is this broker: nobody else knows its file and loggers."""
    if name != str(broker.node_id):
        raise InvalidRequest(f"This is broker {broker.node_id}: it cannot answer for {name!r}.")
