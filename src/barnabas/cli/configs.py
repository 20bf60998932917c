"""`kafka-configs`: show and change settings of topics, brokers, groups, users and clients."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.cli.command import Command, CommandError
from barnabas.cli.common import client_properties
from barnabas.cli.configs_options import DEFAULT_NAME, OPTIONS, Asked, Entity, check
from barnabas.cli.options import Parsed, UsageError
from barnabas.cli.printing import print_lines, show

if TYPE_CHECKING:
    from barnabas.cli.configs_rows import SettingsRow
    from barnabas.client.brokers import Brokers
    from barnabas.client.config_admin import ConfigAdmin, ConfigKind
    from barnabas.client.quota_admin import Mechanism, Password, QuotaAdmin, Wanted

QUOTA_KINDS = {"users": "user", "clients": "client-id", "ips": "ip"}
QUOTAS = frozenset(
    {"producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate"}
)
IP_QUOTAS = frozenset({"connection_creation_rate"})
SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")
ITERATIONS_MIN = 4096

_CREDENTIAL = re.compile(r"(?:iterations=(\d+),)?password=(.*)")


def run(args: Parsed) -> int:
    asked = check(args)
    if asked.is_of_quotas and asked.is_alter:
        check_quotas(asked)
    properties = client_properties(args, files=["command-config"], pairs=[])
    from barnabas.client.brokers import REQUEST_TIMEOUT_S, Brokers

    with Brokers.connect(properties, timeout_s=REQUEST_TIMEOUT_S) as brokers:
        run_these = _run_quotas if asked.is_of_quotas else _run_settings
        return run_these(brokers, asked, args)


# Settings of topics, brokers, loggers, groups, metrics.


def _run_settings(brokers: Brokers, asked: Asked, args: Parsed) -> int:
    from barnabas.cli.configs_rows import changed_line, settings_json, settings_lines
    from barnabas.client.config_admin import ConfigAdmin

    admin = ConfigAdmin(brokers)
    if asked.is_alter:
        _alter_settings(admin, asked)
        print_lines([changed_line(asked.entities)])
        return 0
    entity = asked.first
    if entity.name and not _is_there(admin, entity):
        print(
            f"The {entity.singular} '{entity.name}' doesn't exist and doesn't have dynamic config.",
            file=sys.stderr,
        )
        return 1
    rows = [
        _described(admin, each, describe_all=asked.describe_all) for each in _meant(admin, entity)
    ]
    show(args, lines=lambda: settings_lines(rows), document=lambda: settings_json(rows))
    return 0


def kind_of(entity: Entity) -> ConfigKind:
    from barnabas.client.config_admin import ConfigKind

    return {
        "topics": ConfigKind.TOPIC,
        "brokers": ConfigKind.BROKER,
        "broker-loggers": ConfigKind.BROKER_LOGGER,
        "client-metrics": ConfigKind.CLIENT_METRICS,
        "groups": ConfigKind.GROUP,
    }[entity.type]


def _is_there(admin: ConfigAdmin, entity: Entity) -> bool:
    """Groups and metrics may have settings before they are there, and only the one or the other."""
    if entity.type in ("groups", "client-metrics"):
        if _described(admin, entity, describe_all=False).settings:
            return True
        if entity.type == "client-metrics":
            return False
    return entity.name in admin.names(kind_of(entity))


def _meant(admin: ConfigAdmin, entity: Entity) -> list[Entity]:
    """One entity, or all of the type; of brokers also what is set for all together."""
    if entity.name is not None:
        return [entity]
    names = admin.names(kind_of(entity))
    if entity.type == "brokers":
        names.append(DEFAULT_NAME)
    return [Entity(type=entity.type, name=name) for name in names]


def _described(admin: ConfigAdmin, entity: Entity, *, describe_all: bool) -> SettingsRow:
    from barnabas.cli.configs_rows import SettingsRow, chosen

    assert entity.name is not None
    settings = admin.describe(kind_of(entity), entity.name)
    return SettingsRow(
        entity=entity,
        settings=chosen(entity, settings, describe_all=describe_all),
        describe_all=describe_all,
    )


def _alter_settings(admin: ConfigAdmin, asked: Asked) -> None:
    entity = asked.first
    assert entity.name is not None, "checked before"
    if entity.type == "broker-loggers":
        known = {each.name for each in _described(admin, entity, describe_all=True).settings}
        unknown = [name for name in (*asked.put, *asked.remove) if name not in known]
        if unknown:
            raise CommandError(f"Invalid broker logger(s): {','.join(unknown)}")
    admin.alter(kind_of(entity), entity.name, put=asked.put, remove=asked.remove)


# Quotas and credentials of users, clients and addresses.


def check_quotas(asked: Asked) -> None:
    """Names and values are checked before anything is asked of a broker."""
    kinds = [each.type for each in asked.entities]
    allowed = set(IP_QUOTAS if kinds == ["ips"] else QUOTAS)
    if kinds == ["users"]:
        allowed |= set(SCRAM)
    odd = sorted({*asked.put, *asked.remove} - allowed)
    if odd:
        raise UsageError(
            f"{odd[0]} cannot be set for {' and '.join(kinds)}: allowed are "
            f"{', '.join(sorted(allowed))}"
        )
    passwords, dropped = _split_scram(asked)
    if passwords or dropped:
        if asked.first.name == DEFAULT_NAME:
            raise UsageError("a credential is of one user: --entity-default cannot have any")
        if {*asked.put, *asked.remove} - set(SCRAM):
            raise UsageError("quotas and credentials cannot be changed together: use two commands")
    quotas(asked)


def quotas(asked: Asked) -> dict[str, float]:
    found = {}
    for key, value in asked.put.items():
        if key in SCRAM:
            continue
        try:
            found[key] = float(value)
        except ValueError:
            raise UsageError(f"Cannot parse quota configuration value for {key}: {value}") from None
    return found


def _split_scram(asked: Asked) -> tuple[list[Password], list[Mechanism]]:
    """New credentials, and the mechanisms of those to be deleted."""
    from barnabas.client.quota_admin import MECHANISMS

    put = [_password(name, value) for name, value in asked.put.items() if name in MECHANISMS]
    return put, [MECHANISMS[name] for name in asked.remove if name in MECHANISMS]


def _password(name: str, value: str) -> Password:
    from barnabas.client.quota_admin import MECHANISMS, Password

    found = _CREDENTIAL.fullmatch(value)
    if found is None:
        raise UsageError(
            f"--add-config: {name} is set by {name}=[iterations=8192,password=...] or "
            f"{name}=[password=...]"
        )
    iterations = int(found[1] or ITERATIONS_MIN)
    if iterations < ITERATIONS_MIN:
        raise UsageError(
            f"Iterations {iterations} is less than the minimum {ITERATIONS_MIN} required for {name}"
        )
    if not found[2]:
        raise UsageError(f"--add-config: the password of {name} is empty")
    return Password(mechanism=MECHANISMS[name], iterations=iterations, password=found[2])


def _run_quotas(brokers: Brokers, asked: Asked, args: Parsed) -> int:
    from barnabas.cli.configs_rows import changed_line, credential_lines, quota_json, quota_lines
    from barnabas.client.quota_admin import QuotaAdmin

    admin = QuotaAdmin(brokers)
    if asked.is_alter:
        _alter_quotas(admin, asked)
        print_lines([changed_line(asked.entities)])
        return 0
    found = admin.quotas(wanted(asked.entities), strict=True)
    credentials = admin.credentials(users(asked.entities)) if _is_of_users(asked) else {}
    show(
        args,
        lines=lambda: [*quota_lines(found), *credential_lines(credentials)],
        document=lambda: quota_json(found, credentials),
    )
    return 0


def wanted(entities: Sequence[Entity]) -> list[Wanted]:
    from barnabas.client.quota_admin import Wanted

    return [
        Wanted(kind=QUOTA_KINDS[each.type], name=each.name or None, is_any=each.name is None)
        for each in entities
    ]


def _is_of_users(asked: Asked) -> bool:
    """Credentials are shown where only users are asked for, and not the default one."""
    return [each.type for each in asked.entities] == ["users"] and asked.first.name != DEFAULT_NAME


def users(entities: Sequence[Entity]) -> list[str] | None:
    name = entities[0].name
    return None if name is None else [name]


def _alter_quotas(admin: QuotaAdmin, asked: Asked) -> None:
    put = quotas(asked)
    passwords, dropped = _split_scram(asked)
    remove = [name for name in asked.remove if name not in SCRAM]
    if remove:
        before = admin.quotas(wanted(asked.entities), strict=True)
        known = {key for each in before for key in each.values}
        unknown = [name for name in remove if name not in known]
        if unknown:
            raise CommandError(f"Invalid config(s): {','.join(unknown)}")
    if passwords or dropped:
        name = asked.first.name
        assert name, "checked before"
        admin.alter_credentials(name, put=passwords, remove=dropped)
    if put or remove:
        entity = tuple((QUOTA_KINDS[each.type], each.name or None) for each in asked.entities)
        admin.alter_quotas(entity, put=put, remove=remove)


COMMAND = Command(
    summary="Show and change settings of topics, brokers, groups, users and clients.",
    examples=(
        "--describe --topic orders",
        "--describe --entity-type brokers --entity-name 1 --all",
        "--alter --topic orders --add-config retention.ms=3600000,cleanup.policy=[compact,delete]",
        "--alter --topic orders --delete-config retention.ms",
        "--alter --broker-defaults --add-config log.cleaner.threads=2",
        "--alter --broker-logger 1 --add-config barnabas.node=DEBUG",
        "--alter --user alice --add-config 'SCRAM-SHA-256=[iterations=8192,password=secret]'",
        "--alter --user alice --client app --add-config producer_byte_rate=1048576",
    ),
    options=OPTIONS,
    run=run,
    failure="Error while executing config command:",
    notes=(
        (
            "--describe shows in braces where a value comes from, what counts first. Passwords "
            "and other secrets are not shown."
        ),
        (
            f"Quotas of users and clients: {', '.join(sorted(QUOTAS))}. "
            f"Of addresses: {', '.join(sorted(IP_QUOTAS))}."
        ),
    ),
)
