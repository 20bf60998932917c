"""SASL: passwords, Kerberos tickets and tokens."""

from __future__ import annotations

from barnabas.base.settings.kinds import Class, Double, Int, List, Long, Password, Short, String
from barnabas.base.settings.model import HIGH, LOW, PER_BROKER, setting
from barnabas.base.settings.units import KiB

SETTINGS = (
    setting(
        "sasl.enabled.mechanisms",
        List(may_be_empty=True),
        default=("GSSAPI",),
        update=PER_BROKER,
        doc="The SASL mechanisms that clients may use.",
    ),
    setting(
        "sasl.mechanism.inter.broker.protocol",
        String(),
        default="GSSAPI",
        update=PER_BROKER,
        doc="The SASL mechanism between brokers.",
    ),
    setting(
        "sasl.mechanism.controller.protocol",
        String(),
        default="GSSAPI",
        importance=HIGH,
        doc="The SASL mechanism between brokers and controllers.",
    ),
    setting(
        "sasl.jaas.config",
        Password(),
        update=PER_BROKER,
        doc="Login module and options, in the JAAS format, best with listener and mechanism "
        "as a prefix.",
    ),
    setting(
        "sasl.client.callback.handler.class",
        Class(),
        doc="The class that answers the questions of the client side.",
    ),
    setting(
        "sasl.server.callback.handler.class",
        Class(),
        doc="The class that answers the questions of the server side.",
    ),
    setting(
        "sasl.server.max.receive.size",
        Int(),
        default=512 * KiB,
        doc="The largest message a client may send before it is authenticated.",
    ),
    setting("sasl.login.class", Class(), doc="The class that logs in."),
    setting(
        "sasl.login.callback.handler.class",
        Class(),
        doc="The class that answers the questions of a login.",
    ),
    setting(
        "sasl.login.connect.timeout.ms",
        Int(),
        importance=LOW,
        doc="How long connecting to an identity provider may take.",
    ),
    setting(
        "sasl.login.read.timeout.ms",
        Int(),
        importance=LOW,
        doc="How long an identity provider's answer may take.",
    ),
    setting(
        "sasl.login.refresh.window.factor",
        Double(),
        default=0.8,
        update=PER_BROKER,
        doc="Renew a credential after this share of its lifetime.",
    ),
    setting(
        "sasl.login.refresh.window.jitter",
        Double(),
        default=0.05,
        update=PER_BROKER,
        doc="How much the moment of renewing a credential varies at random.",
    ),
    setting(
        "sasl.login.refresh.min.period.seconds",
        Short(),
        default=60,
        update=PER_BROKER,
        doc="The least time between two renewals.",
    ),
    setting(
        "sasl.login.refresh.buffer.seconds",
        Short(),
        default=300,
        update=PER_BROKER,
        doc="Renew a credential at least this long before it ends.",
    ),
    setting(
        "sasl.login.retry.backoff.ms",
        Long(),
        default=100,
        importance=LOW,
        doc="How long to wait after the first failed login.",
    ),
    setting(
        "sasl.login.retry.backoff.max.ms",
        Long(),
        default=10_000,
        importance=LOW,
        doc="The longest wait after repeated failed logins.",
    ),
    setting(
        "sasl.kerberos.service.name",
        String(),
        update=PER_BROKER,
        doc="The service part of the broker's Kerberos principal.",
    ),
    setting(
        "sasl.kerberos.kinit.cmd",
        String(),
        default="/usr/bin/kinit",
        update=PER_BROKER,
        doc="The program that gets tickets.",
    ),
    setting(
        "sasl.kerberos.min.time.before.relogin",
        Long(),
        default=60_000,
        update=PER_BROKER,
        doc="The least time between two renewals of a ticket.",
    ),
    setting(
        "sasl.kerberos.ticket.renew.window.factor",
        Double(),
        default=0.8,
        update=PER_BROKER,
        doc="Renew a ticket after this share of its lifetime.",
    ),
    setting(
        "sasl.kerberos.ticket.renew.jitter",
        Double(),
        default=0.05,
        update=PER_BROKER,
        doc="How much the moment of renewing a ticket varies at random.",
    ),
    setting(
        "sasl.kerberos.principal.to.local.rules",
        List(may_be_empty=True),
        default=("DEFAULT",),
        update=PER_BROKER,
        doc="How a Kerberos principal becomes a short name; the first rule that fits counts.",
    ),
)
