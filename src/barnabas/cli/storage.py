"""`kafka-storage`: gives the directories of a broker their cluster's id before its first start.

No broker here needs it: a directory without an id becomes that of the broker that starts in it.  It
is the first thing that people have in their notes.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from barnabas.cli.command import Command, CommandError
from barnabas.cli.options import Option, Parsed, UsageError, required

if TYPE_CHECKING:
    from barnabas.base.settings import BrokerConfig
    from barnabas.storage.directory import Meta

COMMANDS = ("info", "format", "random-uuid")
BELONGS_TO = {
    "config": {"info", "format"},
    "cluster-id": {"format"},
    "ignore-formatted": {"format"},
    "standalone": {"format"},
    "no-initial-controllers": {"format"},
}

OPTIONS = (
    Option(
        name="config",
        aliases=("c",),
        value="FILE",
        help="With info and format: the properties file of the broker.",
    ),
    Option(
        name="cluster-id",
        aliases=("t",),
        value="ID",
        help="With format: the id of the cluster, such as random-uuid prints.",
    ),
    Option(
        name="ignore-formatted",
        aliases=("g",),
        help="With format: pass over directories that have an id already.",
    ),
    Option(
        name="standalone",
        aliases=("s",),
        help="With format: as the only controller. There is no other kind here.",
    ),
    Option(
        name="no-initial-controllers",
        aliases=("N",),
        help="With format: as a node that joins others. Nothing is different here.",
    ),
)


def run(args: Parsed) -> int:
    command = check(args)
    if command == "random-uuid":
        from barnabas.controller.bootstrap import new_cluster_id

        print(new_cluster_id())
        return 0
    config = _config(required(args, "config"))
    found = _metas(config)
    return _info(found) if command == "info" else _format(args, config, found)


def check(args: Parsed) -> str:
    """The command asked for; `UsageError` for options that do not go together."""
    listed = ", ".join(COMMANDS)
    if not args.words:
        raise UsageError(f"a command is needed: {listed}")
    (command,) = args.words
    if command not in COMMANDS:
        raise UsageError(f'"{command}" is not a command: {listed}')
    for option, commands in BELONGS_TO.items():
        if args.has(option) and command not in commands:
            raise UsageError(f"--{option} cannot be used with {command}")
    if command != "random-uuid":
        required(args, "config")
    if command == "format":
        cluster_id = required(args, "cluster-id")
        if any(each.isspace() for each in cluster_id):
            raise UsageError(f'--cluster-id: "{cluster_id}" has a space in it')
    return command


def _config(path: str) -> BrokerConfig:
    from barnabas.base.settings import BrokerConfig, ConfigError
    from barnabas.cli.start import read_config

    try:
        return BrokerConfig.from_properties(dict(read_config("--config", path)), file=path)
    except ConfigError as error:
        raise CommandError(error.message) from None


def _metas(config: BrokerConfig) -> dict[str, Meta | None]:
    """What each log directory says; None of one that says nothing yet."""
    from barnabas.storage.directory import DirectoryRefused, read_meta
    from barnabas.storage.fs import FilePool

    try:
        return {os.path.abspath(path): read_meta(FilePool(), path) for path in config.log_dirs}
    except DirectoryRefused as error:
        raise CommandError(str(error)) from None


def _info(found: dict[str, Meta | None]) -> int:
    print("Found log directory:" if len(found) == 1 else "Found log directories:")
    for path in found:
        print(f"  {path}")
    print()
    formatted = {path: meta for path, meta in found.items() if meta is not None}
    for meta in list(formatted.values())[:1]:
        lines = meta.encode().decode().splitlines()
        print(f"Found metadata: {{{', '.join(sorted(line for line in lines if '=' in line))}}}")
        print()
    missing = [path for path in found if path not in formatted]
    if missing:
        print("Found problem:" if len(missing) == 1 else "Found problems:")
        for path in missing:
            print(f"  {path} is not formatted.")
        print()
    return 1 if missing else 0


def _format(args: Parsed, config: BrokerConfig, found: dict[str, Meta | None]) -> int:
    from barnabas.base.ids import random_id
    from barnabas.cli.features_table import level_text
    from barnabas.controller.decider.features import INITIAL, METADATA_VERSION
    from barnabas.storage.directory import META_FILE, Meta
    from barnabas.storage.fs import FilePool

    cluster_id = required(args, "cluster-id")
    for path, meta in found.items():
        if meta is not None and not args.has("ignore-formatted"):
            raise CommandError(
                f"Log directory {path} is already formatted. Use --ignore-formatted to ignore "
                "this directory and format the others."
            )
        if meta is not None and meta.cluster_id != cluster_id:
            raise CommandError(
                f"Log directory {path} belongs to cluster {meta.cluster_id}, not {cluster_id}."
            )
    fresh = [path for path, meta in found.items() if meta is None]
    if not fresh:
        print("All of the log directories are already formatted.")
    version = level_text(METADATA_VERSION, INITIAL[METADATA_VERSION])
    pool = FilePool()
    for path in fresh:
        kind = "metadata" if path == next(iter(found)) else "data"
        print(f"Formatting {kind} directory {path} with {METADATA_VERSION} {version}.")
        new = Meta(cluster_id=cluster_id, node_id=config.node_id, directory_id=random_id())
        pool.make_directory(path)
        pool.write_atomically(f"{path}/{META_FILE}", new.encode())
    return 0


COMMAND = Command(
    summary="Give the directories of a broker the id of its cluster, before its first start.",
    examples=(
        "random-uuid",
        "format --cluster-id 4L6g3nShT-eMCtK--X86sw --config server.properties",
        "info --config server.properties",
    ),
    options=OPTIONS,
    run=run,
    words=(0, 1),
    word_values=COMMANDS,
    notes=(
        f"Commands: {', '.join(COMMANDS)}.",
        "A broker does not need this: it formats what it finds empty.",
    ),
)
