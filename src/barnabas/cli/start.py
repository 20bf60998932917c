"""`barnabas start`: a broker on this machine, with or without a properties file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from barnabas.cli.command import Command, CommandError
from barnabas.cli.common import read_pairs, warn
from barnabas.cli.options import Option, Parsed, UsageError

if TYPE_CHECKING:
    from barnabas.base.properties import Property

DEFAULT_LISTEN = "localhost:9092"
DEFAULT_DATA_DIR = "data"
BROKERS_MAX = 100
LOG_LEVELS = ("debug", "info", "warning", "error")

OVERRIDE = Option(
    name="override",
    value="KEY=VALUE",
    many=True,
    help="A broker setting; wins over the file and the other options. May be repeated.",
)
LOG_LEVEL = Option(
    name="log-level",
    value="LEVEL",
    choices=LOG_LEVELS,
    help=f"How much to log: {', '.join(LOG_LEVELS)}. Default: info.",
)
OPTIONS = (
    Option(name="config", value="FILE", help="Java-style properties file with broker settings."),
    Option(
        name="data-dir",
        value="DIR",
        help="Where the data is kept; the setting log.dirs. Default: the file's, or "
        f"./{DEFAULT_DATA_DIR}.",
    ),
    Option(
        name="listen",
        value="HOST:PORT",
        help="Where clients connect; port 0 takes a free one. Default: the file's, or "
        f"{DEFAULT_LISTEN}.",
    ),
    Option(
        name="brokers",
        value="N",
        whole=(1, BROKERS_MAX),
        help="Start a cluster: N brokers at consecutive ports, and a controller behind them, each "
        "a process with its own directory in DIR.",
    ),
    OVERRIDE,
    LOG_LEVEL,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """All that was asked for of a broker, in the order in which it counts.

    `overrides` win over `properties`.  A complaint about a property can name the file and the line;
    an override stands on the command line.
    """

    file: str | None = None
    properties: Mapping[str, Property | str] = field(default_factory=dict)
    overrides: Mapping[str, str] = field(default_factory=dict)
    log_level: str = "info"


def run(args: Parsed) -> int:
    brokers = args.number("brokers")
    return serve(launch_of(args)) if brokers is None else _run_cluster(args, brokers)


def _run_cluster(args: Parsed, brokers: int) -> int:
    from barnabas.cli.start_cluster import Wanted, run_cluster

    return run_cluster(
        Wanted(
            brokers=brokers,
            data_dir=args.text("data-dir") or DEFAULT_DATA_DIR,
            listen=args.text("listen") or DEFAULT_LISTEN,
            config=args.text("config"),
            overrides=read_pairs("override", args.texts("override")),
            log_level=args.text("log-level") or "info",
        )
    )


def launch_of(args: Parsed) -> Launch:
    """What `barnabas start` was asked for: defaults < the file < options < overrides."""
    file = args.text("config")
    properties: dict[str, Property | str] = dict(read_config("--config", file)) if file else {}
    if not properties.keys() & {"log.dirs", "log.dir"}:
        properties["log.dirs"] = DEFAULT_DATA_DIR
    if not properties.keys() & {"listeners", "port", "host.name"}:
        properties["listeners"] = f"PLAINTEXT://{DEFAULT_LISTEN}"
    overrides: dict[str, str] = {}
    data_dir = args.text("data-dir")
    if data_dir is not None:
        overrides["log.dirs"] = data_dir
    listen = args.text("listen")
    if listen is not None:
        overrides["listeners"] = listener(listen)
    return Launch(
        file=file,
        properties=properties,
        overrides=overrides | read_pairs("override", args.texts("override")),
        log_level=args.text("log-level") or "info",
    )


def listener(text: str) -> str:
    """`host:port` as a value of `listeners`; a list of listeners is taken as it is."""
    if "://" in text:
        return text
    host, colon, port = text.rpartition(":")
    if not colon or not (port.isascii() and port.isdigit() and int(port) < 65536):
        raise UsageError(f'--listen: "{text}" is not host:port')
    return f"PLAINTEXT://{host}:{port}"


def read_config(where: str, path: str) -> dict[str, Property]:
    from barnabas.base.properties import PropertiesError, load_properties

    try:
        return load_properties(path)
    except OSError as error:
        raise UsageError(f"{where}: cannot read {path}: {error.strerror}") from None
    except PropertiesError as error:
        raise UsageError(f"{where}: {error}") from None


def serve(launch: Launch) -> int:
    """Runs the broker until it is told to stop; the exit status."""
    from barnabas.base.settings import BrokerConfig, ConfigError

    if not __debug__:
        raise CommandError("the broker does not run under python -O: its checks must stay on")
    try:
        config = BrokerConfig.from_properties(
            launch.properties, file=launch.file, overrides=launch.overrides
        )
    except ConfigError as error:
        raise CommandError(error.message) from None
    for text in config.warnings:
        warn(text)
    from barnabas.broker.run import run as run_broker

    return run_broker(config, log_level=launch.log_level)


COMMAND = Command(
    summary="Start a broker on this machine; Ctrl-C stops it.",
    examples=(
        "",
        "--data-dir /var/lib/barnabas --listen :9092",
        "--config server.properties --override log.retention.hours=24",
        "--brokers 3 --data-dir /var/lib/barnabas",
    ),
    options=OPTIONS,
    run=run,
)
