"""Options and property sources that several tools share, in the same words everywhere."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence

from barnabas.cli.options import HELP, VERSION, Option, Parsed, UsageError, at_most_one, parse

DEFAULT_BOOTSTRAP = "localhost:9092"
WAYS = ("bootstrap-server", "bootstrap-controller", "zookeeper")
"""Options that say where the cluster is; a tool has some of them."""

BOOTSTRAP = Option(
    name="bootstrap-server",
    aliases=("broker-list",),
    value="HOST:PORT,...",
    help=f"Brokers to connect to first; one that answers is enough. Default: {DEFAULT_BOOTSTRAP}.",
)
BOOTSTRAP_CONTROLLER = Option(
    name="bootstrap-controller",
    value="HOST:PORT,...",
    help="Controllers to connect to, in place of brokers.",
)
ZOOKEEPER = Option(
    name="zookeeper",
    value="HOST:PORT,.../PATH",
    help="Of older notes: look the brokers up in ZooKeeper. Use --bootstrap-server.",
)
COMMAND_CONFIG = Option(
    name="command-config",
    value="FILE",
    help="Java-style properties file with settings of the client: security.protocol, sasl.*, ...",
)
COMMAND_PROPERTY = Option(
    name="command-property",
    value="KEY=VALUE",
    many=True,
    help="One setting of the client; wins over the file. May be repeated.",
)
NEW_CONSUMER = Option(name="new-consumer", help="Of older notes; there is no other kind any more.")
JSON = Option(name="json", help="Print JSON, for programs to read.")


def older(option: Option, name: str) -> Option:
    """The spelling of an option in older notes and books."""
    return Option(
        name=name,
        value=option.value,
        many=option.many,
        help=f"Older spelling of --{option.name}.",
    )


def named_words(args: Parsed, names: Sequence[str], rest: str) -> Parsed:
    """The same with plain words, which older notes have, under the names of their options.

    Words that follow these are values of the option `rest`.
    """
    if args.given:
        raise UsageError("give either options, or nothing but words")
    if len(args.words) < len(names):
        listed = ", ".join(names)
        raise UsageError(f"{len(args.words)} words; expected {listed} and maybe {rest}")
    warn(f"plain words are of older notes: use --{', --'.join(names)}, --{rest}")
    line = [f"--{name}={word}" for name, word in zip(names, args.words, strict=False)]
    line += [f"--{rest}={word}" for word in args.words[len(names) :]]
    options = [each for each in args.options.values() if each not in (HELP, VERSION)]
    return parse(options, line)


def client_properties(
    args: Parsed, *, files: Iterable[str], pairs: Iterable[str]
) -> dict[str, str]:
    """The client's properties: the files given by some options, then the pairs given by others.

    `bootstrap.servers` is always there: what was typed wins over a file.  Only where controllers
    are asked there is `bootstrap.controllers` in its place.
    """
    properties = collect(args, files=files, pairs=pairs)
    way = at_most_one(args, *(name for name in WAYS if name in args.options))
    typed = None if way is None else args.text(way)
    if way == "zookeeper":
        typed = _look_up(typed or "", properties.get("security.protocol", "PLAINTEXT"))
    controllers = properties.pop("bootstrap.controllers", None)
    if way == "bootstrap-controller" or (
        way is None and controllers and "bootstrap-controller" in args.options
    ):
        properties.pop("bootstrap.servers", None)
        controllers = typed or controllers or ""
        check_bootstrap(controllers, option="bootstrap-controller")
        return properties | {"bootstrap.controllers": controllers}
    if typed is not None:
        properties["bootstrap.servers"] = typed
    properties.setdefault("bootstrap.servers", DEFAULT_BOOTSTRAP)
    check_bootstrap(properties["bootstrap.servers"])
    return properties


def _look_up(zookeeper: str, protocol: str) -> str:
    from barnabas.client.zookeeper_lookup import find_brokers

    warn("--zookeeper is deprecated: use --bootstrap-server")
    return find_brokers(zookeeper, protocol)


def collect(args: Parsed, *, files: Iterable[str], pairs: Iterable[str]) -> dict[str, str]:
    """Properties from the files of some options, overridden by the pairs of others."""
    properties: dict[str, str] = {}
    for name in files:
        path = args.text(name)
        if path is not None:
            properties |= read_file(name, path)
    for name in pairs:
        properties |= read_pairs(name, args.texts(name))
    return properties


def read_file(option: str, path: str) -> dict[str, str]:
    from barnabas.base.properties import PropertiesError, load_properties

    try:
        loaded = load_properties(path)
    except OSError as error:
        raise UsageError(f"--{option}: cannot read {path}: {error.strerror}") from None
    except PropertiesError as error:
        raise UsageError(f"--{option}: {error}") from None
    return {key: entry.value for key, entry in loaded.items()}


def read_pairs(option: str, pairs: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise UsageError(f'--{option}: "{pair}" is not of the form key=value')
        found[key.strip()] = value
    return found


def check_bootstrap(servers: str, *, option: str = "bootstrap-server") -> None:
    from barnabas.client.addresses import parse_servers

    try:
        parse_servers(servers)
    except ValueError as error:
        raise UsageError(f"--{option}: {error}") from None


def true_or_false(properties: Mapping[str, str], key: str, *, default: bool = False) -> bool:
    """A switch among the properties.  As in Java, every word but "true" is false."""
    value = properties.get(key)
    return default if value is None else value.strip().lower() == "true"


def warn(text: str) -> None:
    """One line on stderr, for what does not stop the tool."""
    print(f"warning: {text}", file=sys.stderr)
