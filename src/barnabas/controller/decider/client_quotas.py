"""AlterClientQuotas (KIP-546): what clients may use, by user, client id, both, or address.

Each entity is changed as a whole or refused as a whole.  A record is only written for a quota that
really changes.
"""

from __future__ import annotations

import enum
import ipaddress
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from barnabas.base.errors import ApiError, InvalidRequest, code_for
from barnabas.controller.decider.decision import Decision, Environment
from barnabas.controller.image_dump import quota_record
from barnabas.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntityData,
    OpData,
    RequestEntryData,
    ResponseEntryData,
)

if TYPE_CHECKING:
    from barnabas.controller.image import ClusterImage, QuotaEntity
    from barnabas.protocol.message import Message

USER, CLIENT_ID, IP = "user", "client-id", "ip"
"""The kinds of entity."""

PRODUCER_BYTE_RATE = "producer_byte_rate"
CONSUMER_BYTE_RATE = "consumer_byte_rate"
REQUEST_PERCENTAGE = "request_percentage"
CONTROLLER_MUTATION_RATE = "controller_mutation_rate"
CONNECTION_CREATION_RATE = "connection_creation_rate"


class _Number(enum.Enum):
    """The largest value, and how an error calls it."""

    DOUBLE = float("inf"), ""
    INT = float(2**31 - 1), "an INT"
    LONG = float(2**63 - 1), "a LONG"


_OF_CLIENTS = {
    PRODUCER_BYTE_RATE: _Number.LONG,
    CONSUMER_BYTE_RATE: _Number.LONG,
    REQUEST_PERCENTAGE: _Number.DOUBLE,
    CONTROLLER_MUTATION_RATE: _Number.DOUBLE,
}
_OF_ADDRESSES = {CONNECTION_CREATION_RATE: _Number.INT}
_FRACTION_MAX = 1e-6
"""Numbers travel as floats: whole ones need not be quite whole."""


def decide(
    image: ClusterImage, request: AlterClientQuotasRequest, now_ms: int, env: Environment
) -> Decision:
    """Set and remove single quotas."""
    records: list[Message] = []
    answers: list[ResponseEntryData] = []
    seen: set[QuotaEntity] = set()
    for entry in request.entries:
        try:
            entity = _entity(entry.entity)
            if entity in seen:
                raise InvalidRequest(f"Ignoring duplicate entity {_text(entity)}")
            seen.add(entity)
            records += _changes(image, entity, entry.ops)
        except ApiError as error:
            answers.append(_answer(entry, error))
        else:
            answers.append(_answer(entry, None))
    return Decision(
        records=() if request.validate_only else tuple(records),
        response=AlterClientQuotasResponse(entries=answers),
    )


def refuse(request: AlterClientQuotasRequest, error: Exception) -> AlterClientQuotasResponse:
    """The answer when nothing of the request could be done."""
    return AlterClientQuotasResponse(entries=[_answer(entry, error) for entry in request.entries])


def _answer(entry: RequestEntryData, error: Exception | None) -> ResponseEntryData:
    return ResponseEntryData(
        error_code=0 if error is None else code_for(error),
        error_message=error.message if isinstance(error, ApiError) else None,
        entity=entry.entity,
    )


def _entity(parts: Sequence[EntityData]) -> QuotaEntity:
    """The entity, if it is one that can have quotas."""
    if not parts:
        raise InvalidRequest("Invalid empty client quota entity")
    found: dict[str, str | None] = {}
    for part in parts:
        kind = part.entity_type
        if kind in found:
            raise InvalidRequest(f"Invalid client quota entity, duplicate entity entry {kind}")
        if kind not in (USER, CLIENT_ID, IP):
            raise InvalidRequest(f"Unhandled client quota entity type: {kind}")
        if part.entity_name == "":
            raise InvalidRequest(f"Empty {kind} not supported")
        found[kind] = part.entity_name
    if IP in found:
        _check_address(found)
    return tuple(sorted(found.items()))


def _check_address(found: Mapping[str, str | None]) -> None:
    if len(found) > 1:
        raise InvalidRequest(
            "Invalid quota entity combination, IP entity should not be combined with User or "
            "ClientId"
        )
    address = found[IP]
    if address is None:
        return
    try:
        ipaddress.ip_address(address)
    except ValueError:
        raise InvalidRequest(f"{address} is not a valid IP.") from None


def _changes(image: ClusterImage, entity: QuotaEntity, ops: Sequence[OpData]) -> list[Message]:
    numbers = _OF_ADDRESSES if entity[0][0] == IP else _OF_CLIENTS
    current = image.quotas.get(entity, {})
    wanted: dict[str, float | None] = {}
    for op in ops:
        if op.key in wanted:
            raise InvalidRequest(
                f"Duplicate quota key {op.key} not updating quota for this entity {_text(entity)}"
            )
        if not op.remove:
            _check_value(numbers, op.key, op.value)
        wanted[op.key] = None if op.remove else op.value
    return [
        quota_record(entity, key, value)
        for key, value in wanted.items()
        if current.get(key) != value
    ]


def _check_value(numbers: Mapping[str, _Number], key: str, value: float) -> None:
    number = numbers.get(key)
    if number is None:
        raise InvalidRequest(f"Invalid configuration key {key}")
    if not value > 0.0:
        raise InvalidRequest(f"Quota {key} must be greater than 0")
    if number is _Number.DOUBLE:
        return
    largest, name = number.value
    if value > largest:
        raise InvalidRequest(f"Proposed value for {key} is too large for {name}.")
    if value % 1.0 > _FRACTION_MAX:
        raise InvalidRequest(f"{key} cannot be a fractional value.")


def _text(entity: QuotaEntity) -> str:
    """As Apache Kafka writes one in its messages."""
    parts = ", ".join(f"{kind}={'null' if name is None else name}" for kind, name in entity)
    return f"ClientQuotaEntity(entries={{{parts}}})"
