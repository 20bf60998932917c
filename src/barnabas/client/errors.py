"""What a tool can be told about a broker, as one line each."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from barnabas.client.addresses import unknown_hosts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from confluent_kafka import KafkaError


class ClientError(Exception):
    """A broker, or the way to it, said no.  The text is a line for people."""

    before_any_answer: ClassVar[bool] = False
    """Whether no broker was ever heard: the text then says all, whatever was to be done."""


class NotReachableError(ClientError):
    """Nobody listens at any of the addresses."""

    before_any_answer: ClassVar[bool] = True

    def __init__(self, servers: str, what: str = "broker") -> None:
        super().__init__(
            f'{what} not reachable at {servers}: is it running? Start one with "barnabas start".'
        )


class UnknownHostError(NotReachableError):
    """None of the addresses exists."""

    def __init__(self, servers: str, hosts: Sequence[str], what: str = "broker") -> None:
        names = " and ".join(f'"{host}"' for host in dict.fromkeys(hosts))
        ClientError.__init__(
            self, f"{what} not reachable at {servers}: no address is known for {names}."
        )


class SilentBrokerError(ClientError):
    """Somebody listens, but does not answer as a broker would."""

    before_any_answer: ClassVar[bool] = True

    def __init__(self, servers: str) -> None:
        super().__init__(
            f"no usable answer from {servers}: "
            "is it a Kafka listener, and does security.protocol fit it?"
        )


class LoginError(ClientError):
    """The connection could not be secured, or we are not who we say."""

    before_any_answer: ClassVar[bool] = True


class PropertyError(ClientError):
    """A client property that cannot be used; the text names it."""


class RefusedError(ClientError):
    """The broker answered with an error."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(text)
        self.name = name
        """Of the error code, such as TOPIC_ALREADY_EXISTS."""


class NotOfferedError(RefusedError):
    """The broker answers, but has no such request at all, or no version of it that we know."""

    def __init__(self, address: str, api: str) -> None:
        super().__init__("UNSUPPORTED_VERSION", f"the broker at {address} does not offer {api}.")


class NoLeaderError(ClientError):
    """A partition is led by nobody at the moment."""

    def __init__(self, topic: str, partition: int) -> None:
        super().__init__(f"partition {topic}-{partition} has no leader")


def not_reachable(servers: str, what: str = "broker") -> NotReachableError:
    """Why nobody was reached: a name that is mistyped is no broker that does not run."""
    hosts = unknown_hosts(servers)
    return UnknownHostError(servers, hosts, what) if hosts else NotReachableError(servers, what)


def refused(error: KafkaError) -> RefusedError:
    """From the library's error: the broker's own words where it gave some."""
    return RefusedError(error.name(), error.str())
