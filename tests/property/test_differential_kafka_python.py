"""Every message and version that kafka-python knows too: its encoder and ours write the same bytes.

A message goes through our writer, kafka-python's reader and writer, and our reader.  The bytes must
be the same after both writers, and the values after both readers.
"""

from __future__ import annotations

import pkgutil
import uuid
import warnings
from importlib import import_module
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from message_values import every_version, no_limit, values_of, version_id

from barnabas.protocol.message import Message
from barnabas.protocol.schema import Array, Kind, Nested, fields_of
from barnabas.protocol.types import INT32, UUID

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # of kafka-python's use of the library
    import kafka.protocol
    from kafka.protocol.api_data import ApiData
    from kafka.protocol.api_message import ApiMessage


def their_classes() -> dict[str, type[Any]]:
    modules = [
        import_module(module.name)
        for module in pkgutil.walk_packages(kafka.protocol.__path__, "kafka.protocol.")
        if ".old" not in module.name and not module.name.endswith("generate_stubs")
    ]
    return {
        name: value
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, ApiMessage | ApiData)
    }


with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    THEIRS = their_classes()
LIMITS = {"ApiVersionsResponse": lambda field: st.just(0) if field.name == "error_code" else None}
"""With an error it reads an ApiVersionsResponse as version 0, which is what brokers then send."""

SHARED = [
    (cls, version)
    for cls, version in every_version()
    if cls.__name__ in THEIRS and version <= THEIRS[cls.__name__].max_version
]


def test_kafka_python_knows_most_of_what_clients_say() -> None:
    assert len({cls for cls, _ in SHARED}) > 90
    assert len(SHARED) > 350


@pytest.mark.parametrize(("cls", "version"), SHARED, ids=version_id)
@settings(
    max_examples=6,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(data=st.data())
def test_kafka_python_writes_and_reads_the_same(
    cls: type[Message], version: int, data: st.DataObject
) -> None:
    theirs = THEIRS[cls.__name__]
    message: Any = data.draw(values_of(cls, version, LIMITS.get(cls.__name__, no_limit)))
    ours = message.encode(version)

    found = theirs.decode(ours, version=version, header=False)
    found._header = None  # which its encoder asks for, and its decoder forgot
    written = bytes(found.encode(header=False))

    assert from_theirs(found, cls, version) == message
    assert written == ours
    assert cls.decode(written, version) == message


def from_theirs(container: Any, cls: type[Any], version: int) -> Any:
    return cls(
        **{
            field.name: value_from_theirs(attribute(container, field.name), field.kind, version)
            for field in fields_of(cls)
            if field.exists(version)
        }
    )


def attribute(container: Any, name: str) -> Any:
    """Some fields have another name there."""
    if name.endswith("_authorized_operations") and not hasattr(container, name):
        return container.authorized_operations
    return getattr(container, name)


def value_from_theirs(value: Any, kind: Kind, version: int) -> Any:
    match value, kind:
        case None, _ if kind is UUID:
            return bytes(16)
        case None, _ if kind is INT32:
            return -(1 << 31)  # operations that nobody asked for
        case None, _:
            return None
        case set(), _:
            return sum(-(1 << bit) if bit == 31 else 1 << bit for bit in value)
        case _, Array(element):
            return [value_from_theirs(item, element, version) for item in value]
        case _, Nested(cls):
            return from_theirs(value, cls, version)
        case uuid.UUID(), _:
            return value.bytes
        case str(), _ if kind is UUID:
            return uuid.UUID(value).bytes
        case _:
            return value
