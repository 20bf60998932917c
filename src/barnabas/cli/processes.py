"""Nodes that run on this machine: which processes they are, and what each was started with."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from barnabas.cli.options import UsageError, parse

DEFAULT_NODE_ID = "1"
DEFAULT_ROLES = "broker,controller"
INTERPRETERS = ("python", "pypy")


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """What the system says of a process."""

    pid: int
    parent: int
    argv: Sequence[str]
    cwd: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A process that is a node, or that keeps the nodes of a cluster."""

    pid: int
    parent: int
    file: str | None
    """The properties file, with its whole path."""
    node_id: str
    roles: frozenset[str]
    is_cluster: bool = False

    def __str__(self) -> str:
        what = "the cluster" if self.is_cluster else f"node {self.node_id}"
        return f"{what} (process {self.pid})"


def own_processes(proc: Path = Path("/proc")) -> list[Process]:
    """All processes of this user.  One that ends while we look is left out."""
    found = []
    for entry in proc.iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if entry.stat().st_uid != os.getuid():
                continue
            argv = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]
            status = (entry / "stat").read_text().rpartition(")")[2].split()
            cwd = os.readlink(entry / "cwd")
        except (OSError, IndexError):
            continue  # it has ended, or is none of ours to look into
        found.append(Process(pid=int(entry.name), parent=int(status[1]), argv=argv, cwd=cwd))
    return sorted(found, key=lambda each: each.pid)


def start_arguments(argv: Sequence[str]) -> tuple[str, Sequence[str]] | None:
    """`start` or `server-start`, and what follows it; None if this starts no node."""
    for at, word in enumerate(argv):
        if not _is_program(argv, at):
            break  # the name of a file that somebody reads, perhaps
        name = os.path.basename(word).removesuffix(".sh")
        if name == "kafka-server-start":
            return "server-start", argv[at + 1 :]
        if name == "barnabas" or (word == "barnabas.cli.main" and argv[at - 1] == "-m"):
            rest = argv[at + 1 :]
            known = bool(rest) and rest[0] in ("start", "server-start")
            return (rest[0], rest[1:]) if known else None
    return None


def _is_program(argv: Sequence[str], at: int) -> bool:
    """Whether a word is what runs: the first one, or the first behind Python and its options."""
    if at == 0:
        return True
    interpreted = os.path.basename(argv[0]).startswith(INTERPRETERS)
    return interpreted and all(word.startswith("-") for word in argv[1:at])


def servers_among(processes: Iterable[Process]) -> list[Server]:
    """The nodes among some processes, as their command lines and files say."""
    found = (server_of(process) for process in processes)
    return [server for server in found if server is not None]


def server_of(process: Process) -> Server | None:
    from barnabas.cli.server_start import COMMAND as SERVER_START
    from barnabas.cli.start import COMMAND as START

    started = start_arguments(process.argv)
    if started is None:
        return None
    name, arguments = started
    command = START if name == "start" else SERVER_START
    try:
        args = parse(command.options, arguments, words=command.words)
    except UsageError:
        return None
    if args.has("help") or args.has("version"):
        return None
    file = args.text("config") if name == "start" else next(iter(args.words), None)
    path = None if file is None else os.path.realpath(os.path.join(process.cwd, file))
    pairs = dict(pair.partition("=")[::2] for pair in args.texts("override"))
    settings = {**_read(path), **{key.strip(): value.strip() for key, value in pairs.items()}}
    return Server(
        pid=process.pid,
        parent=process.parent,
        file=path,
        node_id=settings.get("node.id") or settings.get("broker.id") or DEFAULT_NODE_ID,
        roles=_roles(settings),
        is_cluster=name == "start" and args.has("brokers"),
    )


def _roles(settings: Mapping[str, str]) -> frozenset[str]:
    default = "broker" if "zookeeper.connect" in settings else DEFAULT_ROLES
    text = settings.get("process.roles") or default
    return frozenset(part.strip() for part in text.split(","))


def _read(path: str | None) -> dict[str, str]:
    """What the file says now; nothing if it is gone, for the process runs without it."""
    from barnabas.base.properties import PropertiesError, load_properties

    if path is None:
        return {}
    try:
        return {key: entry.value.strip() for key, entry in load_properties(path).items()}
    except (OSError, PropertiesError):
        return {}


def without_descendants(servers: Sequence[Server], parents: Mapping[int, int]) -> list[Server]:
    """Those that no other of them has started: who keeps a cluster stops its nodes in order.

    `parents` has the parent of every process.
    """
    chosen = {server.pid for server in servers}

    def is_kept(pid: int) -> bool:
        while pid in parents:
            pid = parents[pid]
            if pid in chosen:
                return True
        return False

    return [server for server in servers if not is_kept(server.pid)]
