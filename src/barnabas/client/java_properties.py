"""Properties of Java clients, in librdkafka's words.

People have files written for Java clients.  Most names mean the same in librdkafka; this module has
the others.  Whatever is not mentioned here is passed on as it is, and librdkafka itself says
whether it knows it (see `connect.py`).
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from barnabas.client.errors import PropertyError


class Role(enum.Enum):
    ADMIN = "admin client"
    PRODUCER = "producer"
    CONSUMER = "consumer"


@dataclass(slots=True)
class Translated:
    config: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    """One line for each property that has no counterpart and may matter."""


RENAMED = {
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "max.request.size": "message.max.bytes",
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
}
"""Another name, the same value."""

QUIET = re.compile(
    r"""(key|value)\.(de)?serializer(\..*)?   # bytes are bytes here
      | metrics?\..*  | auto\.include\.jmx\.reporter
      | default\.api\.timeout\.ms | socket\.connection\.setup\.timeout\.max\.ms
      | max\.block\.ms | max\.poll\.records   # the tools see to these themselves
      | exclude\.internal\.topics
      | partitioner\.(adaptive\.partitioning\.enable|availability\.timeout\.ms)
      | ssl\.(truststore|keystore)\.(type|password) | ssl\.protocol | ssl\.enabled\.protocols
    """,
    re.VERBOSE,
)
"""No counterpart, and nothing is lost without one."""

PARTITIONERS = {
    "DefaultPartitioner": "murmur2_random",
    "RoundRobinPartitioner": "random",
    "UniformStickyPartitioner": "random",
}
ASSIGNORS = {
    "RangeAssignor": "range",
    "RoundRobinAssignor": "roundrobin",
    "StickyAssignor": "cooperative-sticky",
    "CooperativeStickyAssignor": "cooperative-sticky",
}


def translate(properties: Mapping[str, str], role: Role) -> Translated:
    """librdkafka's configuration for a client with these Java properties."""
    result = Translated()
    for name, raw in properties.items():
        value = raw.strip()
        special = _SPECIAL.get(name)
        if special is not None:
            special(result, properties, value)
        elif name == "request.timeout.ms" and role is not Role.PRODUCER:
            result.config["socket.timeout.ms"] = value
        elif not QUIET.fullmatch(name):
            result.config[RENAMED.get(name, name)] = value
    for name in ("socket.send.buffer.bytes", "socket.receive.buffer.bytes"):
        if result.config.get(name) == "-1":  # Java's word for "as the system has it"
            result.config[name] = "0"
    return result


def _buffer_memory(result: Translated, properties: Mapping[str, str], value: str) -> None:
    if not value.isdigit():
        raise PropertyError(f'buffer.memory: "{value}" is not a whole number')
    result.config["queue.buffering.max.kbytes"] = str(max(1, int(value) // 1024))


def _compression_level(result: Translated, properties: Mapping[str, str], value: str) -> None:
    codec = properties.get("compression.type", "").strip()
    if f"compression.{codec}.level" in properties:
        result.config["compression.level"] = properties[f"compression.{codec}.level"].strip()


def _partitioner(result: Translated, properties: Mapping[str, str], value: str) -> None:
    known = PARTITIONERS.get(_class_name(value))
    if known is None:
        result.warnings.append(f"partitioner.class={value} is not known here and is ignored")
    else:
        result.config["partitioner"] = known


def _ignore_keys(result: Translated, properties: Mapping[str, str], value: str) -> None:
    if value.lower() == "true":
        result.config["partitioner"] = "random"


def _assignors(result: Translated, properties: Mapping[str, str], value: str) -> None:
    names = [_class_name(part.strip()) for part in value.split(",") if part.strip()]
    words = [ASSIGNORS.get(name, name) for name in names]
    if len(words) > 1 and "cooperative-sticky" in words:
        # Java's own default is such a mixture; librdkafka wants one kind of protocol.
        words.remove("cooperative-sticky")
    result.config["partition.assignment.strategy"] = ",".join(words)


def _offset_reset(result: Translated, properties: Mapping[str, str], value: str) -> None:
    result.config["auto.offset.reset"] = "error" if value == "none" else value


def _endpoint_check(result: Translated, properties: Mapping[str, str], value: str) -> None:
    result.config["ssl.endpoint.identification.algorithm"] = value.lower() or "none"


def _truststore(result: Translated, properties: Mapping[str, str], value: str) -> None:
    kind = _store_kind("ssl.truststore.location", value)
    if kind != "PEM":
        raise PropertyError(
            f"ssl.truststore.location: {value} is a {kind} store, which only Java reads; "
            "export its certificates to a PEM file and name that"
        )
    result.config["ssl.ca.location"] = value


def _keystore(result: Translated, properties: Mapping[str, str], value: str) -> None:
    kind = _store_kind("ssl.keystore.location", value)
    if kind == "PEM":
        result.config["ssl.certificate.location"] = value
        result.config["ssl.key.location"] = value
    elif kind == "PKCS12":
        result.config["ssl.keystore.location"] = value
        result.config["ssl.keystore.password"] = properties.get("ssl.keystore.password", "")
    else:
        raise PropertyError(
            f"ssl.keystore.location: {value} is a {kind} store, which only Java reads; "
            "convert it to PKCS12 or PEM"
        )


def _store_kind(name: str, path: str) -> str:
    """By content, as Java does it: files are often not what `ssl.keystore.type` says."""
    try:
        with open(path, "rb") as file:
            begin = file.read(4096)
    except OSError as error:
        raise PropertyError(f"{name}: cannot read {path}: {error.strerror}") from None
    if begin.startswith((b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce")):
        return "JKS"
    return "PEM" if b"-----BEGIN" in begin else "PKCS12"


_JAAS = re.compile(
    r"\s*(?P<module>[\w.$]+)\s+(required|requisite|sufficient|optional)\b(?P<rest>.*)", re.DOTALL
)
_JAAS_PAIR = re.compile(r'([\w.]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^\s;]+)')
_JAAS_NAMES = {
    "PlainLoginModule": {"username": "sasl.username", "password": "sasl.password"},
    "ScramLoginModule": {"username": "sasl.username", "password": "sasl.password"},
    "Krb5LoginModule": {"principal": "sasl.kerberos.principal", "keyTab": "sasl.kerberos.keytab"},
    "OAuthBearerLoginModule": {
        "clientId": "sasl.oauthbearer.client.id",
        "clientSecret": "sasl.oauthbearer.client.secret",
        "scope": "sasl.oauthbearer.scope",
    },
}


def _jaas(result: Translated, properties: Mapping[str, str], value: str) -> None:
    match = _JAAS.fullmatch(value)
    names = _JAAS_NAMES.get(_class_name(match["module"])) if match else None
    if match is None or names is None:
        raise PropertyError(
            "sasl.jaas.config: expected one of the login modules "
            f'{", ".join(_JAAS_NAMES)}, then "required" and options'
        )
    for key, quoted in _JAAS_PAIR.findall(match["rest"]):
        plain = re.sub(r"\\(.)", r"\1", quoted[1:-1]) if quoted.startswith('"') else quoted
        if key in names:
            result.config[names[key]] = plain
    if "sasl.oauthbearer.client.id" in result.config:
        result.config["sasl.oauthbearer.method"] = "oidc"


def _callback_handler(result: Translated, properties: Mapping[str, str], value: str) -> None:
    if not _class_name(value).startswith("OAuthBearerLoginCallbackHandler"):
        result.warnings.append(f"{value} is a Java class and is ignored")


def _class_name(path: str) -> str:
    return path.rpartition(".")[2]


_SPECIAL: dict[str, Callable[[Translated, Mapping[str, str], str], None]] = {
    "buffer.memory": _buffer_memory,
    "compression.gzip.level": _compression_level,
    "compression.lz4.level": _compression_level,
    "compression.zstd.level": _compression_level,
    "partitioner.class": _partitioner,
    "partitioner.ignore.keys": _ignore_keys,
    "partition.assignment.strategy": _assignors,
    "auto.offset.reset": _offset_reset,
    "ssl.endpoint.identification.algorithm": _endpoint_check,
    "ssl.truststore.location": _truststore,
    "ssl.keystore.location": _keystore,
    "sasl.jaas.config": _jaas,
    "sasl.login.callback.handler.class": _callback_handler,
    "sasl.client.callback.handler.class": _callback_handler,
}
