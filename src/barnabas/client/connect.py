"""Clients of confluent-kafka, opened in one way: Java's properties in, one clear line on failure.

Nothing here is imported by `--help`: the library takes a tenth of a second to load.  librdkafka's
own log lines are off unless `debug` is among the properties; what matters of them comes as
`Troubles`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from barnabas.client.addresses import find_listening
from barnabas.client.errors import (
    ClientError,
    PropertyError,
    SilentBrokerError,
    not_reachable,
    refused,
)
from barnabas.client.java_properties import RENAMED, Role, translate

if TYPE_CHECKING:
    from concurrent.futures import Future

    from confluent_kafka import Consumer, KafkaError, Producer
    from confluent_kafka.admin import AdminClient

REACH_TIMEOUT_S = 3.0
ANSWER_TIMEOUT_S = 5.0

UNANSWERED = frozenset({"_TRANSPORT", "_TIMED_OUT", "_ALL_BROKERS_DOWN", "_RESOLVE"})

Warn = Callable[[str], None]
Client = TypeVar("Client")

_REFUSED = re.compile(r"Invalid value|outside allowed range (\S+)")
_UNKNOWN = re.compile(r'No such configuration property: "(.*)"')


@dataclass(slots=True)
class Troubles:
    """What librdkafka reports beside the calls: filled while a client is polled."""

    servers: str
    warn: Warn
    fatal: ClientError | None = None
    """Set when going on cannot help, such as after a wrong password."""
    is_down: bool = False
    is_told: bool = False

    def __call__(self, error: KafkaError) -> None:
        name = error.name()
        if name in ("_AUTHENTICATION", "_SSL", "_FATAL") or error.fatal():
            self.fatal = ClientError(f"{self.servers}: {_tidy(error.str())}")
        elif name == "_ALL_BROKERS_DOWN":
            self.is_down = True

    def check(self) -> None:
        """Raises what is fatal; warns, once, of what may pass."""
        if self.fatal is not None:
            raise self.fatal
        if self.is_down and not self.is_told:
            self.is_told = True
            self.warn(f"connection to {self.servers} lost: trying again")


def open_admin(properties: Mapping[str, str], warn: Warn) -> tuple[AdminClient, Troubles]:
    from confluent_kafka.admin import AdminClient

    return _open(AdminClient, Role.ADMIN, properties, {}, warn)


def open_producer(
    properties: Mapping[str, str], defaults: Mapping[str, Any], warn: Warn
) -> tuple[Producer, Troubles]:
    """`defaults` are librdkafka's own words, callbacks too, for what the properties leave open."""
    from confluent_kafka import Producer

    return _open(Producer, Role.PRODUCER, properties, defaults, warn)


def open_consumer(
    properties: Mapping[str, str], defaults: Mapping[str, Any], warn: Warn
) -> tuple[Consumer, Troubles]:
    """`defaults` are librdkafka's own words, callbacks too, for what the properties leave open."""
    from confluent_kafka import Consumer

    return _open(Consumer, Role.CONSUMER, properties, defaults, warn)


class _Asking(Protocol):
    """What every client of the library can do."""

    def list_topics(self, topic: str | None = None, timeout: float = -1) -> Any: ...
    def poll(self, timeout: float = -1) -> Any: ...


def fetch_metadata(client: _Asking, troubles: Troubles, topic: str | None = None) -> Any:
    """Brokers, and one topic or all of them; the first call shows whether a broker answers at all.

    `SilentBrokerError` if none does, unless something worse is known to have happened.
    """
    from confluent_kafka import KafkaException

    try:
        if topic is None:
            return client.list_topics(timeout=ANSWER_TIMEOUT_S)
        return client.list_topics(topic, timeout=ANSWER_TIMEOUT_S)
    except KafkaException as error:
        client.poll(0)  # what went wrong behind the call is waiting to be told
        if troubles.fatal is not None:
            raise troubles.fatal from None
        if error.args[0].name() in UNANSWERED:
            raise SilentBrokerError(troubles.servers) from None
        raise ClientError(_tidy(error.args[0].str())) from None


def result_of(future: Future[Any], client: _Asking, troubles: Troubles) -> Any:
    """What an admin call came to; its error, or the worse trouble behind it, as `ClientError`."""
    from confluent_kafka import KafkaException

    try:
        return future.result()
    except KafkaException as error:
        client.poll(0)  # what went wrong behind the call is waiting to be told
        if troubles.fatal is not None:
            raise troubles.fatal from None
        raise refused(error.args[0]) from None


def _open(
    factory: Callable[[dict[str, Any]], Client],
    role: Role,
    properties: Mapping[str, str],
    defaults: Mapping[str, Any],
    warn: Warn,
) -> tuple[Client, Troubles]:
    translated = translate(properties, role)
    servers = translated.config["bootstrap.servers"]
    for text in translated.warnings:
        warn(text)
    config = dict(defaults) | translated.config
    if "debug" not in config:
        config.setdefault("log_level", "0")
    troubles = Troubles(servers, warn)
    client = _create(factory, config, troubles)
    if find_listening(servers, timeout_s=REACH_TIMEOUT_S) is None:
        raise not_reachable(servers)
    return client, troubles


def _create(
    factory: Callable[[dict[str, Any]], Client], config: dict[str, Any], troubles: Troubles
) -> Client:
    """librdkafka is asked what it knows, not second-guessed: what it does not know is left out."""
    from confluent_kafka import KafkaException

    while True:
        try:
            return factory({**config, "error_cb": troubles})
        except TypeError as error:  # a property that takes a function or a flag of Python
            raise PropertyError(f"client property: {error}") from None
        except KafkaException as error:
            text = error.args[0].str()
            unknown = _UNKNOWN.search(text)
            if unknown is None or unknown[1] not in config:
                raise PropertyError(_bad_property(factory, config) or _tidy(text)) from None
            troubles.warn(f"client property {unknown[1]} is not known here and is ignored")
            del config[unknown[1]]


def _bad_property(
    factory: Callable[[dict[str, Any]], Client], config: Mapping[str, Any]
) -> str | None:
    """The property whose value is refused, by the name it was given (librdkafka has aliases)."""
    from confluent_kafka import KafkaException

    java_names = {new: old for old, new in RENAMED.items()}
    for name, value in config.items():
        try:
            factory({"group.id": "-", "log_level": "0", name: value})
        except KafkaException as error:
            refusal = _REFUSED.search(error.args[0].str())
            if refusal is not None:
                bounds = f": allowed is {refusal[1]}" if refusal[1] else ""
                written = java_names.get(name, name)
                return f'client property {written}: "{value}" is not a valid value{bounds}'
    return None


def _tidy(text: str) -> str:
    """librdkafka's text without the address and the state that it puts around it."""
    text = re.sub(r"^\w+://\S+: ", "", text.strip())
    return re.sub(r"\s*\(after \d+ms in state [A-Z_0-9]+(, .*)?\)$", "", text)
