"""Security: access control, principals and delegation tokens."""

from __future__ import annotations

from barnabas.base.settings.kinds import Class, Long, Password, String
from barnabas.base.settings.model import LOW, PER_BROKER, setting
from barnabas.base.settings.units import DAY, HOUR

SETTINGS = (
    setting(
        "authorizer.class.name",
        String(),
        default="",
        importance=LOW,
        doc="The access control to use; none if empty.",
    ),
    setting(
        "principal.builder.class",
        Class(),
        default="org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder",
        update=PER_BROKER,
        doc="The class that turns an authenticated connection into a principal.",
    ),
    setting(
        "security.providers",
        String(),
        importance=LOW,
        doc="Classes that provide security algorithms.",
    ),
    setting(
        "connections.max.reauth.ms",
        Long(),
        default=0,
        doc="How long a connection lives on one authentication; 0 for ever.",
    ),
    setting(
        "delegation.token.secret.key",
        Password(),
        doc="The key that delegation tokens are signed with, the same on every node.",
    ),
    setting(
        "delegation.token.max.lifetime.ms",
        Long(1),
        default=7 * DAY,
        doc="How long a delegation token can be renewed.",
    ),
    setting(
        "delegation.token.expiry.time.ms",
        Long(1),
        default=1 * DAY,
        doc="How long a delegation token is valid without being renewed.",
    ),
    setting(
        "delegation.token.expiry.check.interval.ms",
        Long(1),
        default=1 * HOUR,
        importance=LOW,
        doc="How often expired delegation tokens are looked for.",
    ),
)
