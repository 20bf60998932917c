"""Options of `kafka-configs`: whose settings are meant, and what is to become of them.  Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from barnabas.cli.common import (
    BOOTSTRAP,
    BOOTSTRAP_CONTROLLER,
    COMMAND_CONFIG,
    JSON,
    ZOOKEEPER,
    read_file,
)
from barnabas.cli.options import (
    Option,
    Parsed,
    UsageError,
    action_of,
    at_most_one,
)

TYPES = (
    "topics",
    "clients",
    "users",
    "brokers",
    "broker-loggers",
    "ips",
    "client-metrics",
    "groups",
)
NAMED = {
    "topic": "topics",
    "client": "clients",
    "user": "users",
    "broker": "brokers",
    "broker-logger": "broker-loggers",
    "ip": "ips",
    "client-metrics": "client-metrics",
    "group": "groups",
}
"""Short options that give a type and a name at once."""
DEFAULTS = {
    "client-defaults": "clients",
    "user-defaults": "users",
    "broker-defaults": "brokers",
    "ip-defaults": "ips",
}
WITH_DEFAULTS = frozenset(DEFAULTS.values())
QUOTA_TYPES = frozenset({"users", "clients", "ips"})
CHANGES = ("add-config", "add-config-file", "delete-config")
DEFAULT_NAME = ""
"""Whoever of a type has no settings of its own."""

OPTIONS = (
    BOOTSTRAP,
    BOOTSTRAP_CONTROLLER,
    ZOOKEEPER,
    COMMAND_CONFIG,
    JSON,
    Option(name="describe", help="Show settings."),
    Option(name="alter", help="Change settings."),
    Option(name="all", help="With --describe: also what nobody has set."),
    Option(
        name="entity-type",
        value="TYPE",
        many=True,
        choices=TYPES,
        help=f"Whose settings: {', '.join(TYPES)}. Users and clients may be given together.",
    ),
    Option(
        name="entity-name",
        value="NAME",
        many=True,
        help="The topic, broker id, user, client id, address or group.",
    ),
    Option(
        name="entity-default",
        help="Those of the type that have no settings of their own: all brokers, users, ...",
    ),
    *(
        Option(name=name, value="NAME", help=f"Short for --entity-type {kind} --entity-name NAME.")
        for name, kind in NAMED.items()
    ),
    *(
        Option(name=name, help=f"Short for --entity-type {kind} --entity-default.")
        for name, kind in DEFAULTS.items()
    ),
    Option(
        name="add-config",
        value="KEY=VALUE,...",
        help="With --alter: settings to change. A value with commas stands in brackets: a=[b,c].",
    ),
    Option(
        name="add-config-file",
        value="FILE",
        help="With --alter: settings to change, from a properties file.",
    ),
    Option(
        name="delete-config",
        value="KEY,...",
        many=True,
        help="With --alter: settings that are not to be set any more.",
    ),
    Option(name="force", help="Of older notes; nothing is asked here anyway."),
)

_OUTSIDE = r"(?=[^\]]*(?:\[|$))"
"""Not within brackets."""
_COMMA = re.compile(f",{_OUTSIDE}")
_EQUALS = re.compile(rf"\s*=\s*{_OUTSIDE}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """Whose settings: None for all of the type, `DEFAULT_NAME` for whoever has none of its own."""

    type: str
    name: str | None

    @property
    def singular(self) -> str:
        """As Apache Kafka's lines call it: the type without its last letter."""
        return self.type[:-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What was asked for, checked."""

    is_alter: bool
    entities: Sequence[Entity]
    describe_all: bool = False
    put: Mapping[str, str] = field(default_factory=dict)
    remove: Sequence[str] = ()

    @property
    def first(self) -> Entity:
        return self.entities[0]

    @property
    def is_of_quotas(self) -> bool:
        return self.first.type in QUOTA_TYPES


def check(args: Parsed) -> Asked:
    """What is asked for; `UsageError` for options that do not go together."""
    action = action_of(args, ("describe", "alter"))
    if action == "describe":
        for option in CHANGES:
            if args.has(option):
                raise UsageError(f"--{option} cannot be used with --describe")
    elif args.has("json"):
        raise UsageError("--json cannot be used with --alter")
    entities = _entities(args)
    _check_entities(args, entities)
    if action == "describe":
        return Asked(is_alter=False, entities=entities, describe_all=args.has("all"))
    if any(each.name is None for each in entities):
        raise UsageError("--alter needs --entity-name or --entity-default for each --entity-type")
    put, remove = _changes(args)
    return Asked(is_alter=True, entities=entities, put=put, remove=remove)


def _entities(args: Parsed) -> list[Entity]:
    """Types and names in the order in which they stand; names belong to types by their place.

    Of short options clients come before users, in whatever order they stand.
    """
    types = [value for name, value in args.order if name == "entity-type"]
    names: list[str | None] = [
        value if name == "entity-name" else DEFAULT_NAME
        for name, value in args.order
        if name in ("entity-name", "entity-default")
    ]
    if len(names) > len(types):
        raise UsageError("--entity-name and --entity-default need an --entity-type each")
    names += [None] * (len(types) - len(names))
    found = [Entity(type=kind, name=name) for kind, name in zip(types, names, strict=True)]
    short = [
        Entity(type=kind, name=args.text(option))
        for option, kind in NAMED.items()
        if args.has(option)
    ]
    short += [
        Entity(type=kind, name=DEFAULT_NAME)
        for option, kind in DEFAULTS.items()
        if args.has(option)
    ]
    if found and short:
        raise UsageError("--entity-type cannot be used with the short options that name a type")
    if "" in args.texts("entity-name") or any(args.text(each) == "" for each in NAMED):
        raise UsageError("a name must not be empty: --entity-default means those without a name")
    return found or short


def _check_entities(args: Parsed, entities: Sequence[Entity]) -> None:
    types = [each.type for each in entities]
    if not types:
        raise UsageError(f"--entity-type is missing: one of {', '.join(TYPES)}")
    if len(set(types)) < len(types):
        raise UsageError(f"--entity-type {types[0]} is given twice")
    if len(types) > 1 and set(types) != {"users", "clients"}:
        raise UsageError(f"{types[0]} and {types[1]} cannot be used together")
    for each in entities:
        if each.name == DEFAULT_NAME and each.type not in WITH_DEFAULTS:
            raise UsageError(f"--entity-default cannot be used with {each.type}")
        if each.type in ("brokers", "broker-loggers") and each.name:
            check_broker_id(each)
        if each.type == "ips" and each.name:
            _check_ip(each.name)
        if each.type == "broker-loggers" and each.name is None:
            raise UsageError("a broker must be named with broker-loggers")


def check_broker_id(entity: Entity) -> None:
    assert entity.name is not None
    if not (entity.name.isascii() and entity.name.isdigit()):
        raise UsageError(
            f"The entity name for {entity.type} must be a valid integer broker id, "
            f"but it is: {entity.name}"
        )


def _check_ip(name: str) -> None:
    import ipaddress
    import socket

    try:
        ipaddress.ip_address(name)
    except ValueError:
        try:
            socket.getaddrinfo(name, None)
        except OSError:
            raise UsageError(
                f"The entity name for ips must be a valid IP or resolvable host, but it is: {name}"
            ) from None


def _changes(args: Parsed) -> tuple[dict[str, str], list[str]]:
    if not any(args.has(option) for option in CHANGES):
        raise UsageError(f"--alter needs one of {', '.join(f'--{each}' for each in CHANGES)}")
    at_most_one(args, "add-config", "add-config-file")
    put: dict[str, str] = {}
    file, text = args.text("add-config-file"), args.text("add-config")
    if file is not None:
        put = read_file("add-config-file", file)
    elif text is not None:
        put = parse_settings(text)
    remove = [
        part.strip()
        for value in args.texts("delete-config")
        for part in value.split(",")
        if part.strip()
    ]
    if args.has("delete-config") and not remove:
        raise UsageError("--delete-config needs a value: KEY,...")
    both = sorted(put.keys() & set(remove))
    if both:
        raise UsageError(f"{both[0]} is both to be changed and to be deleted")
    return put, remove


def parse_settings(text: str) -> dict[str, str]:
    """`a=b,c=[d,e]`: commas and equals signs within brackets belong to the value."""
    found = {}
    for part in _COMMA.split(text):
        pair = _EQUALS.split(part.strip())
        if len(pair) != 2 or not pair[0]:
            raise UsageError(f'--add-config: "{part}" is not of the form key=value')
        found[pair[0].strip()] = re.sub(r"[\[\]]", "", pair[1]).strip()
    return found
