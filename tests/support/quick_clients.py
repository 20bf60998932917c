"""What tests do with librdkafka again and again: send, read everything, change settings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigEntry, ConfigResource
from wire_client import WireClient, offset_for

from barnabas.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

PATIENCE_S = 30
Pair = tuple[bytes | None, bytes | None]


def send(
    bootstrap: str, topic: str, pairs: Iterable[Pair], *, partition: int = 0, **config: Any
) -> list[Message]:
    """Send keys and values in order; the acknowledged messages.  Fails if one is refused."""
    answers, errors = try_to_send(bootstrap, topic, pairs, partition=partition, **config)
    assert not errors, f"{len(errors)} were refused: {errors[0]}"
    return answers


def try_to_send(
    bootstrap: str, topic: str, pairs: Iterable[Pair], *, partition: int = 0, **config: Any
) -> tuple[list[Message], list[Any]]:
    """Send in order and wait for every answer: the acknowledged messages, and the errors."""
    settings = {"bootstrap.servers": bootstrap, "linger.ms": 5, "message.timeout.ms": 20_000}
    producer = Producer({**settings, **dotted(config)})
    answers: list[Message] = []
    errors: list[Any] = []

    def delivered(error: object, message: Message) -> None:
        if error is None:
            answers.append(message)
        else:
            errors.append(error)

    for key, value in pairs:
        while True:
            try:
                producer.produce(topic, value, key, partition=partition, on_delivery=delivered)
                break
            except BufferError:
                producer.poll(1)
    assert producer.flush(PATIENCE_S) == 0, "not everything was answered"
    return answers, errors


def watermarks(bootstrap: str, topic: str, *, partition: int = 0) -> tuple[int, int]:
    """First offset and the one after the last."""
    with connected(bootstrap) as client:
        low, high = (offset_for(client, topic, at, partition=partition) for at in (-2, -1))
    return low, high


def connected(bootstrap: str) -> WireClient:
    host, _, port = bootstrap.rpartition(":")
    return WireClient(int(port), host=host.strip("[]"))


def read_all(bootstrap: str, topic: str, *, partition: int = 0, **config: Any) -> list[Message]:
    """Every record of a partition, from its first offset to the end it has now."""
    low, high = watermarks(bootstrap, topic, partition=partition)
    if low == high:
        return []
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": "none",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "fetch.queue.backoff.ms": 5,
        "fetch.wait.max.ms": 10,
        "auto.offset.reset": "error",
    }
    consumer = Consumer({**settings, **dotted(config)})
    consumer.assign([TopicPartition(topic, partition, low)])
    found: list[Message] = []
    try:
        while True:
            message = consumer.poll(PATIENCE_S)
            assert message is not None, f"{len(found)} records came, the end is {high}"
            error = message.error()
            if error is None:
                found.append(message)
            elif error.name() == "_PARTITION_EOF":
                return found  # compaction may have removed the last offsets
            else:
                raise KafkaException(error)
    finally:
        consumer.close()


def values(messages: Iterable[Message]) -> list[bytes | None]:
    return [message.value() for message in messages]


def alter(bootstrap: str, kind: str, name: str, **config: str | None) -> None:
    """Set settings of a "topic" or "broker" (name "" for all of them); None removes one."""
    result = try_to_alter(bootstrap, kind, name, **config)
    assert result.error_code == 0, result


def try_to_alter(bootstrap: str, kind: str, name: str, **config: str | None) -> Any:
    """The answer of IncrementalAlterConfigs for one resource.  librdkafka takes no empty name."""
    resource = AlterConfigsResource(
        resource_type=ConfigResource.Type[kind.upper()].value,
        resource_name=name,
        configs=[
            AlterableConfig(name=key, value=value, config_operation=value is None)
            for key, value in dotted(config).items()
        ],
    )
    with connected(bootstrap) as client:
        answer = client.call(IncrementalAlterConfigsRequest(resources=[resource]), 1)
    return answer.responses[0]


def describe(bootstrap: str, kind: str, name: str) -> dict[str, ConfigEntry]:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    resource = ConfigResource(ConfigResource.Type[kind.upper()], name)
    found: dict[str, ConfigEntry] = next(iter(admin.describe_configs([resource]).values())).result(
        PATIENCE_S
    )
    return found


def dotted(config: dict[str, Any]) -> dict[str, Any]:
    return {key.replace("_", "."): value for key, value in config.items()}
