"""Every message and version that kio knows too: its encoder and ours write the same bytes.

A message goes through our writer, kio's reader, kio's writer and our reader.  The bytes must be the
same after both writers, and the values after both readers.
"""

from __future__ import annotations

import datetime
import io
import uuid
from dataclasses import fields as dataclass_fields
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kio.index import UnknownEntity, load_entity_schema
from kio.schema.errors import ErrorCode
from kio.serial import entity_reader, entity_writer
from kio.static.constants import EntityType
from message_values import every_version, values_of, version_id

from barnabas.protocol.apis import APIS
from barnabas.protocol.message import Message, Struct
from barnabas.protocol.schema import Array, Field, Kind, Nested, fields_of
from barnabas.protocol.types import UUID

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
MILLISECOND = datetime.timedelta(milliseconds=1)
NARROWER: dict[str, st.SearchStrategy[int]] = {
    "error_code": st.sampled_from([code.value for code in ErrorCode]),
    "datetime_i64": st.integers(0, 10**13),
    "timedelta_i64": st.integers(-(10**13), 10**13),
}
"""Where a type of kio has fewer values than the integer that it stands for."""

OTHER_NAMES = {
    "KRaftVersionRecord": "k_raft_version_record",
    "ConsumerProtocolSubscription": "consumer_protocol_subscription",
    "ConsumerProtocolAssignment": "consumer_protocol_assignment",
    "DefaultPrincipalData": "default_principal_data",
    "LeaderChangeMessage": "leader_change_message",
    "SnapshotHeaderRecord": "snapshot_header_record",
    "SnapshotFooterRecord": "snapshot_footer_record",
    "VotersRecord": "voters_record",
}
HEADERS = {"RequestHeader": "request_header", "ResponseHeader": "response_header"}


def kio_class(cls: type[Message], version: int) -> type[Any] | None:
    name = cls.__name__
    if name in HEADERS:
        place = (HEADERS[name], EntityType.header)
    elif name in OTHER_NAMES:
        place = (OTHER_NAMES[name], EntityType.data)
    elif cls.api_key in APIS and name.endswith("Request"):
        place = (APIS[cls.api_key].key.name.lower(), EntityType.request)
    elif cls.api_key in APIS and name.endswith("Response"):
        place = (APIS[cls.api_key].key.name.lower(), EntityType.response)
    else:
        return None
    try:
        return load_entity_schema(place[0], version, place[1])
    except UnknownEntity:
        return None


CHANGED_LATER = {"ReadShareGroupStateSummaryResponse"}
"""Version 0 was not stable in Kafka 4.0 and got a field since, which kio has."""

SHARED = [
    (cls, version, theirs)
    for cls, version in every_version()
    if cls.__name__ not in CHANGED_LATER and (theirs := kio_class(cls, version)) is not None
]


def test_kio_knows_nearly_every_api() -> None:
    covered = {cls.api_key for cls, _, _ in SHARED} & set(APIS)

    assert len(covered) > 75
    assert len(SHARED) > 500


@pytest.mark.parametrize(("cls", "version", "theirs"), SHARED, ids=version_id)
@settings(
    max_examples=6,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(data=st.data())
def test_kio_writes_and_reads_the_same(
    cls: type[Message], version: int, theirs: type[Any], data: st.DataObject
) -> None:
    narrow = narrower_fields(cls, theirs, version)
    message: Any = data.draw(values_of(cls, version, lambda field: narrow.get(id(field))))
    ours = message.encode(version)

    entity, size = entity_reader(theirs)(ours, 0)
    written = io.BytesIO()
    entity_writer(theirs)(written, entity)

    assert size == len(ours)
    assert from_kio(entity, cls, version) == message
    assert written.getvalue() == ours
    assert cls.decode(written.getvalue(), version) == message


def pairs(cls: type[Struct], theirs: type[Any], version: int) -> list[tuple[Field, Any]]:
    """Our fields of a version, each with kio's: both are in the order of Kafka's definition."""
    present = [field for field in fields_of(cls) if field.exists(version)]
    found = list(zip(present, dataclass_fields(theirs), strict=True))
    for ours, kios in found:
        assert ours.name in {kios.name.rstrip("_"), f"{kios.name}_ms"}
    return found


def narrower_fields(
    cls: type[Struct], theirs: type[Any], version: int
) -> dict[int, st.SearchStrategy[Any]]:
    found = {}
    for field, other in pairs(cls, theirs, version):
        nested = innermost(field.kind)
        if isinstance(nested, Nested):
            inner = entity_type(other.type)
            found.update(narrower_fields(nested.cls, inner, version))
        elif (strategy := NARROWER.get(other.metadata["kafka_type"])) is not None:
            is_list = isinstance(field.kind, Array)
            found[id(field)] = st.lists(strategy, max_size=2) if is_list else strategy
    return found


def innermost(kind: Kind) -> Kind:
    return innermost(kind.element) if isinstance(kind, Array) else kind


def entity_type(annotation: Any) -> type[Any]:
    """The class inside `X`, `X | None`, `tuple[X, ...]` or `tuple[X, ...] | None`."""
    while not hasattr(annotation, "__dataclass_fields__"):
        arguments = [arg for arg in annotation.__args__ if arg not in {Ellipsis, type(None)}]
        (annotation,) = arguments
    return annotation


def from_kio(entity: Any, cls: type[Any], version: int) -> Any:
    return cls(
        **{
            field.name: value_from_kio(getattr(entity, other.name), field.kind, version)
            for field, other in pairs(cls, type(entity), version)
        }
    )


def value_from_kio(value: Any, kind: Kind, version: int) -> Any:
    match value, kind:
        case None, _ if kind is UUID:
            return bytes(16)
        case None, _ if getattr(kind, "name", "") == "int64":
            return -1  # a time that is not there
        case None, _:
            return None
        case _, Array(element):
            return [value_from_kio(item, element, version) for item in value]
        case _, Nested(cls):
            return from_kio(value, cls, version)
        case uuid.UUID(), _:
            return value.bytes
        case datetime.timedelta(), _:
            return value // MILLISECOND
        case datetime.datetime(), _:
            return round((value - EPOCH) / MILLISECOND)  # it keeps them as floats
        case ErrorCode(), _:
            return value.value
        case _:
            return value
