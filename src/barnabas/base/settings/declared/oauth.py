"""OAuth: tokens of the OAUTHBEARER mechanism."""

from __future__ import annotations

from barnabas.base.settings.kinds import Boolean, Class, Int, List, Long, Password, String
from barnabas.base.settings.model import HIGH, LOW, setting
from barnabas.base.settings.units import HOUR

SETTINGS = (
    setting("sasl.oauthbearer.token.endpoint.url", String(), doc="Where tokens are got."),
    setting(
        "sasl.oauthbearer.jwks.endpoint.url",
        String(),
        doc="Where the keys that sign tokens are found.",
    ),
    setting(
        "sasl.oauthbearer.jwks.endpoint.refresh.ms",
        Long(),
        default=1 * HOUR,
        importance=LOW,
        doc="How often the keys that sign tokens are read again.",
    ),
    setting(
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
        Long(),
        default=100,
        importance=LOW,
        doc="How long to wait after the first failure to read the keys that sign tokens.",
    ),
    setting(
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
        Long(),
        default=10_000,
        importance=LOW,
        doc="The longest wait after repeated failures to read the keys that sign tokens.",
    ),
    setting(
        "sasl.oauthbearer.jwt.retriever.class",
        Class(),
        default="org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever",
        doc="The class that gets tokens.",
    ),
    setting(
        "sasl.oauthbearer.jwt.validator.class",
        Class(),
        default="org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator",
        doc="The class that checks tokens.",
    ),
    setting(
        "sasl.oauthbearer.expected.audience",
        List(may_be_empty=True),
        default=(),
        importance=HIGH,
        doc="Whom a token must be meant for; anyone if empty.",
    ),
    setting(
        "sasl.oauthbearer.expected.issuer",
        String(),
        importance=HIGH,
        doc="Who must have issued a token.",
    ),
    setting(
        "sasl.oauthbearer.clock.skew.seconds",
        Int(),
        default=30,
        importance=LOW,
        doc="How far the clocks of broker and identity provider may differ.",
    ),
    setting("sasl.oauthbearer.scope", String(), doc="The scope that is asked for."),
    setting(
        "sasl.oauthbearer.scope.claim.name",
        String(),
        default="scope",
        importance=LOW,
        doc="The claim of a token that holds its scope.",
    ),
    setting(
        "sasl.oauthbearer.sub.claim.name",
        String(),
        default="sub",
        importance=LOW,
        doc="The claim of a token that holds its subject.",
    ),
    setting(
        "sasl.oauthbearer.client.credentials.client.id",
        String(),
        doc="The client id to get tokens with.",
    ),
    setting(
        "sasl.oauthbearer.client.credentials.client.secret",
        Password(),
        doc="The secret of the client id to get tokens with.",
    ),
    setting(
        "sasl.oauthbearer.assertion.algorithm",
        String("ES256", "RS256", any_case=True),
        default="RS256",
        doc="How an assertion is signed.",
    ),
    setting(
        "sasl.oauthbearer.assertion.claim.aud", String(), doc="The audience claim of an assertion."
    ),
    setting(
        "sasl.oauthbearer.assertion.claim.iss", String(), doc="The issuer claim of an assertion."
    ),
    setting(
        "sasl.oauthbearer.assertion.claim.sub", String(), doc="The subject claim of an assertion."
    ),
    setting(
        "sasl.oauthbearer.assertion.claim.exp.seconds",
        Int(0, 86_400),
        default=300,
        importance=LOW,
        doc="How long an assertion is valid.",
    ),
    setting(
        "sasl.oauthbearer.assertion.claim.nbf.seconds",
        Int(0, 3600),
        default=60,
        importance=LOW,
        doc="How long before now an assertion's validity begins.",
    ),
    setting(
        "sasl.oauthbearer.assertion.claim.jti.include",
        Boolean(),
        default=False,
        doc="Whether an assertion gets an id of its own.",
    ),
    setting("sasl.oauthbearer.assertion.file", String(), doc="A file with a finished assertion."),
    setting(
        "sasl.oauthbearer.assertion.private.key.file",
        String(),
        doc="A file with the key that signs assertions.",
    ),
    setting(
        "sasl.oauthbearer.assertion.private.key.passphrase",
        Password(),
        doc="The password of the key that signs assertions.",
    ),
    setting(
        "sasl.oauthbearer.assertion.template.file",
        String(),
        doc="A file with more claims for an assertion.",
    ),
)
