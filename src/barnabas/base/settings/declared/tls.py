"""TLS: certificates and protocols of encrypted listeners."""

from __future__ import annotations

from barnabas.base.settings.kinds import Boolean, Class, List, Password, String
from barnabas.base.settings.model import LOW, PER_BROKER, setting

SETTINGS = (
    setting(
        "ssl.protocol",
        String(),
        default="TLSv1.3",
        update=PER_BROKER,
        doc="The TLS version to prefer.",
    ),
    setting(
        "ssl.enabled.protocols",
        List(may_be_empty=True),
        default=("TLSv1.2", "TLSv1.3"),
        update=PER_BROKER,
        doc="The TLS versions to allow.",
    ),
    setting("ssl.provider", String(), update=PER_BROKER, doc="The Java security provider to use."),
    setting(
        "ssl.cipher.suites",
        List(may_be_empty=True),
        default=(),
        update=PER_BROKER,
        doc="The cipher suites to allow; all that are sound if empty.",
    ),
    setting(
        "ssl.client.auth",
        String("required", "requested", "none"),
        default="none",
        update=PER_BROKER,
        doc="Whether clients must, may or need not show a certificate.",
    ),
    setting(
        "ssl.keystore.type",
        String(),
        default="JKS",
        update=PER_BROKER,
        doc="Format of the key store.",
    ),
    setting(
        "ssl.keystore.location",
        String(),
        update=PER_BROKER,
        doc="File with this node's key and certificate.",
    ),
    setting(
        "ssl.keystore.password", Password(), update=PER_BROKER, doc="Password of the key store."
    ),
    setting(
        "ssl.key.password",
        Password(),
        update=PER_BROKER,
        doc="Password of the key in the key store.",
    ),
    setting(
        "ssl.keystore.key",
        Password(),
        update=PER_BROKER,
        doc="This node's key as PEM text, instead of a file.",
    ),
    setting(
        "ssl.keystore.certificate.chain",
        Password(),
        update=PER_BROKER,
        doc="This node's certificates as PEM text, instead of a file.",
    ),
    setting(
        "ssl.truststore.type",
        String(),
        default="JKS",
        update=PER_BROKER,
        doc="Format of the trust store.",
    ),
    setting(
        "ssl.truststore.location",
        String(),
        update=PER_BROKER,
        doc="File with the certificates that are trusted.",
    ),
    setting(
        "ssl.truststore.password", Password(), update=PER_BROKER, doc="Password of the trust store."
    ),
    setting(
        "ssl.truststore.certificates",
        Password(),
        update=PER_BROKER,
        doc="Trusted certificates as PEM text, instead of a file.",
    ),
    setting(
        "ssl.keymanager.algorithm",
        String(),
        default="SunX509",
        update=PER_BROKER,
        doc="How the Java key manager picks a key.",
    ),
    setting(
        "ssl.trustmanager.algorithm",
        String(),
        default="PKIX",
        update=PER_BROKER,
        doc="How the Java trust manager checks certificates.",
    ),
    setting(
        "ssl.secure.random.implementation",
        String(),
        update=PER_BROKER,
        importance=LOW,
        doc="Source of random numbers.",
    ),
    setting(
        "ssl.endpoint.identification.algorithm",
        String(),
        default="https",
        update=PER_BROKER,
        importance=LOW,
        doc="How a server's name is compared with its certificate; empty for not at all.",
    ),
    setting(
        "ssl.engine.factory.class",
        Class(),
        update=PER_BROKER,
        importance=LOW,
        doc="The class that makes TLS engines.",
    ),
    setting(
        "ssl.principal.mapping.rules",
        String(),
        default="DEFAULT",
        importance=LOW,
        doc="How a certificate's name becomes a principal.",
    ),
    setting(
        "ssl.allow.dn.changes",
        Boolean(),
        default=False,
        importance=LOW,
        doc="Whether a reloaded key store may hold a certificate for another name.",
    ),
    setting(
        "ssl.allow.san.changes",
        Boolean(),
        default=False,
        importance=LOW,
        doc="Whether a reloaded key store may hold a certificate for other alternative names.",
    ),
)
