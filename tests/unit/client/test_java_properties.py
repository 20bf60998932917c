from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.client.errors import PropertyError
from barnabas.client.java_properties import Role, translate


def config(properties: dict[str, str], role: Role = Role.PRODUCER) -> dict[str, str]:
    translated = translate(properties, role)
    assert translated.warnings == []
    return translated.config


def test_names_that_mean_the_same_are_passed_on() -> None:
    same = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "linger.ms": "5",
        "foo": "x",
    }
    assert config(same) == same


def test_names_that_differ_are_translated() -> None:
    assert config(
        {
            "max.request.size": "5",
            "send.buffer.bytes": "-1",
            "receive.buffer.bytes": "7",
            "buffer.memory": "33554432",
            "partitioner.class": "org.apache.kafka.clients.producer.RoundRobinPartitioner",
        }
    ) == {
        "message.max.bytes": "5",
        "socket.send.buffer.bytes": "0",
        "socket.receive.buffer.bytes": "7",
        "queue.buffering.max.kbytes": "32768",
        "partitioner": "random",
    }
    assert config({"fetch.max.wait.ms": "9", "auto.offset.reset": "none"}, Role.CONSUMER) == {
        "fetch.wait.max.ms": "9",
        "auto.offset.reset": "error",
    }


def test_the_request_timeout_means_the_acknowledgement_only_to_a_producer() -> None:
    timeout = {"request.timeout.ms": "9"}
    assert config(timeout, Role.PRODUCER) == {"request.timeout.ms": "9"}
    assert config(timeout, Role.CONSUMER) == {"socket.timeout.ms": "9"}
    assert config(timeout, Role.ADMIN) == {"socket.timeout.ms": "9"}


@pytest.mark.parametrize(
    "name",
    [
        "key.serializer",
        "value.deserializer",
        "value.deserializer.encoding",
        "metric.reporters",
        "metrics.num.samples",
        "max.block.ms",
        "max.poll.records",
        "ssl.truststore.password",
    ],
)
def test_what_has_no_meaning_here_is_left_out_quietly(name: str) -> None:
    assert config({name: "x"}) == {}


def test_a_class_of_ones_own_is_worth_a_warning() -> None:
    translated = translate({"partitioner.class": "com.example.Mine"}, Role.PRODUCER)

    assert translated.config == {}
    assert translated.warnings == [
        "partitioner.class=com.example.Mine is not known here and is ignored"
    ]


def test_assignors_are_named_by_their_strategy() -> None:
    package = "org.apache.kafka.clients.consumer."
    javas_default = f"class {package}RangeAssignor, {package}CooperativeStickyAssignor"

    def strategy(value: str) -> str:
        found = config({"partition.assignment.strategy": value}, Role.CONSUMER)
        return found["partition.assignment.strategy"]

    assert strategy(f"{package}RoundRobinAssignor") == "roundrobin"
    assert strategy(f"{package}CooperativeStickyAssignor") == "cooperative-sticky"
    assert strategy(javas_default) == "range"


def test_the_level_counts_only_for_the_codec_in_use() -> None:
    levels = {"compression.zstd.level": "9", "compression.gzip.level": "2"}
    assert config({"compression.type": "zstd", **levels}) == {
        "compression.type": "zstd",
        "compression.level": "9",
    }


@pytest.mark.parametrize(
    ("jaas", "expected"),
    [
        (
            (
                "org.apache.kafka.common.security.plain.PlainLoginModule required "
                'username="alice" password="a\\"b;c";'
            ),
            {"sasl.username": "alice", "sasl.password": 'a"b;c'},
        ),
        (
            (
                "org.apache.kafka.common.security.scram.ScramLoginModule required\n"
                "  username=bob\n  password=secret tokenauth=true;"
            ),
            {"sasl.username": "bob", "sasl.password": "secret"},
        ),
        (
            (
                "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true "
                'keyTab="/k.tab" principal="c@R";'
            ),
            {"sasl.kerberos.keytab": "/k.tab", "sasl.kerberos.principal": "c@R"},
        ),
        (
            (
                "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
                'clientId="i" clientSecret="s" scope="x";'
            ),
            {
                "sasl.oauthbearer.client.id": "i",
                "sasl.oauthbearer.client.secret": "s",
                "sasl.oauthbearer.scope": "x",
                "sasl.oauthbearer.method": "oidc",
            },
        ),
    ],
)
def test_the_login_is_taken_out_of_the_jaas_line(jaas: str, expected: dict[str, str]) -> None:
    assert config({"sasl.jaas.config": jaas}) == expected


@pytest.mark.parametrize("jaas", ["", "nonsense", "com.example.Mine required a=b;"])
def test_a_login_that_is_not_understood_is_an_error(jaas: str) -> None:
    with pytest.raises(PropertyError, match=r"^sasl\.jaas\.config: expected one of"):
        translate({"sasl.jaas.config": jaas}, Role.ADMIN)


def test_stores_are_recognised_by_their_content(tmp_path: Path) -> None:
    pem, p12, jks = tmp_path / "a.jks", tmp_path / "b.jks", tmp_path / "c.p12"
    pem.write_bytes(b"subject=x\n-----BEGIN CERTIFICATE-----\n")
    p12.write_bytes(b"\x30\x82\x09\x00")
    jks.write_bytes(b"\xfe\xed\xfe\xed\0\0")

    assert config({"ssl.truststore.location": str(pem), "ssl.truststore.type": "JKS"}) == {
        "ssl.ca.location": str(pem)
    }
    assert config({"ssl.keystore.location": str(pem), "ssl.key.password": "k"}) == {
        "ssl.certificate.location": str(pem),
        "ssl.key.location": str(pem),
        "ssl.key.password": "k",
    }
    assert config({"ssl.keystore.location": str(p12), "ssl.keystore.password": "s"}) == {
        "ssl.keystore.location": str(p12),
        "ssl.keystore.password": "s",
    }
    with pytest.raises(PropertyError, match=r"^ssl\.truststore\.location: .* is a PKCS12 store"):
        translate({"ssl.truststore.location": str(p12)}, Role.ADMIN)
    with pytest.raises(PropertyError, match=r"^ssl\.keystore\.location: .* is a JKS store"):
        translate({"ssl.keystore.location": str(jks)}, Role.ADMIN)
    with pytest.raises(PropertyError, match=r"^ssl\.keystore\.location: cannot read .*: No such"):
        translate({"ssl.keystore.location": str(tmp_path / "none")}, Role.ADMIN)


def test_no_check_of_the_host_name_is_spelt_with_a_word() -> None:
    name = "ssl.endpoint.identification.algorithm"
    assert config({name: ""}) == {name: "none"}
    assert config({name: "HTTPS"}) == {name: "https"}


def test_a_memory_that_is_no_number_is_named() -> None:
    with pytest.raises(PropertyError, match=r'^buffer\.memory: "lots" is not a whole number'):
        translate({"buffer.memory": "lots"}, Role.PRODUCER)
