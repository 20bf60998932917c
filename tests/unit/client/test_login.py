"""Properties of a Java client become a login, or one line that says why they cannot."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from barnabas.client.errors import PropertyError, RefusedError
from barnabas.client.login import Login, authenticate, login_of

PLAIN_JAAS = (
    "org.apache.kafka.common.security.plain.PlainLoginModule required "
    'username="alice" password="wonder land";'
)


def sasl(mechanism: str = "PLAIN", **more: str) -> dict[str, str]:
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": PLAIN_JAAS,
        **{name.replace("_", "."): value for name, value in more.items()},
    }


@pytest.mark.parametrize("properties", [{}, {"security.protocol": " plaintext "}])
def test_a_plain_listener_needs_no_login(properties: dict[str, str]) -> None:
    assert login_of(properties) == Login()


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_name_and_password_stand_in_the_jaas_line(mechanism: str) -> None:
    assert login_of(sasl(mechanism)) == Login(
        mechanism=mechanism, username="alice", password="wonder land"
    )


def test_a_server_is_checked_unless_that_is_switched_off() -> None:
    checked = login_of({"security.protocol": "SSL"}).tls
    assert checked is not None
    assert (checked.check_hostname, checked.verify_mode) == (True, ssl.CERT_REQUIRED)
    by_chain_only = login_of(
        {"security.protocol": "SSL", "ssl.endpoint.identification.algorithm": ""}
    ).tls
    assert by_chain_only is not None
    assert (by_chain_only.check_hostname, by_chain_only.verify_mode) == (False, ssl.CERT_REQUIRED)


@pytest.mark.parametrize(
    ("properties", "complaint"),
    [
        ({"security.protocol": "TLS"}, 'security.protocol: "TLS" is not one of PLAINTEXT, SSL'),
        (sasl("GSSAPI"), "sasl.mechanism=GSSAPI: this is asked with one of PLAIN, SCRAM-SHA-256"),
        (
            {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"},
            "sasl.jaas.config: username is missing",
        ),
        (
            {"security.protocol": "SSL", "ssl.truststore.certificates": "nonsense"},
            "ssl.truststore: no certificates to trust",
        ),
    ],
)
def test_what_cannot_be_done_is_named(properties: dict[str, str], complaint: str) -> None:
    with pytest.raises(PropertyError) as caught:
        login_of(properties)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("content", "said"), [(b"\x30\x82junk", "PKCS12"), (None, "cannot read")])
def test_key_stores_that_cannot_be_read_are_named(
    tmp_path: Path, content: bytes | None, said: str
) -> None:
    store = tmp_path / "keys.p12"
    if content is not None:
        store.write_bytes(content)
    properties = {"security.protocol": "SSL", "ssl.keystore.location": str(store)}
    with pytest.raises(PropertyError, match=rf"ssl\.keystore\.location: .*{said}|{said}"):
        login_of(properties)


def test_a_key_file_without_a_key_is_refused(tmp_path: Path) -> None:
    store = tmp_path / "keys.pem"
    store.write_text("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    properties = {"security.protocol": "SSL", "ssl.keystore.location": str(store)}
    with pytest.raises(PropertyError, match=r"^ssl\.keystore: no key and certificate to use"):
        login_of(properties)


def test_plain_says_name_and_password_at_once() -> None:
    said = []

    def say(data: bytes) -> bytes:
        said.append(data)
        return b""

    authenticate(login_of(sasl()), say)
    assert said == [b"\0alice\0wonder land"]


def test_a_server_that_does_not_know_the_password_is_refused() -> None:
    with pytest.raises(RefusedError, match="SCRAM-SHA-256: the server did not add to the nonce"):
        authenticate(login_of(sasl("SCRAM-SHA-256")), lambda data: data.removeprefix(b"n,,"))
