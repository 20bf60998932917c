"""How our own connections are secured: TLS and SASL, as the properties of a Java client say.

librdkafka does all this by itself; here it is for the requests that it has no call for.  PLAIN and
SCRAM are spoken, and certificates are PEM files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.client.errors import PropertyError, RefusedError
from barnabas.client.java_properties import Role, translate
from barnabas.client.scram import DIGESTS, ScramClient, ScramError

if TYPE_CHECKING:
    import ssl

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS = ("PLAIN", *DIGESTS)

Say = Callable[[bytes], bytes]
"""Sends the bytes of a SASL exchange; the server's answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """What stands between a TCP connection and the first request."""

    tls: ssl.SSLContext | None = None
    mechanism: str | None = None
    username: str = ""
    password: str = ""


PLAIN = Login()
"""Nothing at all."""


def can_log_in(properties: Mapping[str, str]) -> bool:
    """Whether our own connections can be secured as librdkafka's are; if not, tools do without
    what only they could tell.
    """
    try:
        login_of(properties)
    except PropertyError:
        return False
    return True


def login_of(properties: Mapping[str, str]) -> Login:
    """`PropertyError` names what is wrong, or cannot be done here."""
    protocol = properties.get("security.protocol", "PLAINTEXT").strip().upper()
    if protocol not in PROTOCOLS:
        raise PropertyError(f'security.protocol: "{protocol}" is not one of {", ".join(PROTOCOLS)}')
    if protocol == "PLAINTEXT":
        return PLAIN
    config = translate(properties, Role.ADMIN).config
    tls = _tls(config) if protocol.endswith("SSL") else None
    if not protocol.startswith("SASL"):
        return Login(tls=tls)
    mechanism = (config.get("sasl.mechanism") or config.get("sasl.mechanisms") or "GSSAPI").strip()
    if mechanism not in MECHANISMS:
        raise PropertyError(
            f"sasl.mechanism={mechanism}: this is asked with one of {', '.join(MECHANISMS)}"
        )
    for name in ("sasl.username", "sasl.password"):
        if name not in config:
            raise PropertyError(f"sasl.jaas.config: {name.removeprefix('sasl.')} is missing")
    return Login(
        tls=tls,
        mechanism=mechanism,
        username=config["sasl.username"],
        password=config["sasl.password"],
    )


def _tls(config: Mapping[str, str]) -> ssl.SSLContext:
    import ssl

    if "ssl.keystore.location" in config:
        raise PropertyError(
            f"ssl.keystore.location: {config['ssl.keystore.location']} is a PKCS12 store; this is "
            "asked with a PEM file, which openssl makes of it"
        )
    try:
        context = ssl.create_default_context(
            cafile=config.get("ssl.ca.location"), cadata=config.get("ssl.ca.pem")
        )
    except (OSError, ValueError) as error:
        raise PropertyError(f"ssl.truststore: no certificates to trust: {error}") from None
    if config.get("ssl.endpoint.identification.algorithm") == "none":
        context.check_hostname = False
    try:
        _load_key(context, config)
    except OSError as error:
        raise PropertyError(f"ssl.keystore: no key and certificate to use: {error}") from None
    return context


def _load_key(context: ssl.SSLContext, config: Mapping[str, str]) -> None:
    """The module reads keys from files only."""
    password = config.get("ssl.key.password", "")  # never asked for at the terminal
    if "ssl.certificate.location" in config:
        context.load_cert_chain(config["ssl.certificate.location"], password=password)
    elif "ssl.certificate.pem" in config:
        import tempfile

        with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
            file.write(f"{config.get('ssl.key.pem', '')}\n{config['ssl.certificate.pem']}\n")
            file.flush()
            context.load_cert_chain(file.name, password=password)


def authenticate(login: Login, say: Say) -> None:
    """One SASL exchange; `RefusedError` if either side does not know the password."""
    assert login.mechanism is not None
    if login.mechanism == "PLAIN":
        say(f"\0{login.username}\0{login.password}".encode())
        return
    import secrets

    client = ScramClient(
        mechanism=login.mechanism,
        username=login.username,
        password=login.password,
        nonce=secrets.token_urlsafe(24),
    )
    try:
        client.check(say(client.final(say(client.first()))))
    except ScramError as error:
        raise RefusedError("SASL_AUTHENTICATION_FAILED", f"{login.mechanism}: {error}") from None
