"""`kafka-server-start`: a broker from a properties file, in the foreground or behind the back."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from barnabas.cli.command import Command, CommandError
from barnabas.cli.common import read_pairs
from barnabas.cli.options import Option, Parsed, UsageError
from barnabas.cli.start import LOG_LEVEL, OVERRIDE, Launch, read_config, serve

LOG_NAME = "kafkaServer.out"
LOOK_S = 0.05
READY_TIMEOUT_S = 30.0


def run(args: Parsed) -> int:
    launch = launch_of(args)
    return _in_background(launch) if args.has("daemon") else serve(launch)


def launch_of(args: Parsed) -> Launch:
    if not args.words:
        raise UsageError("which properties file? It is the first argument")
    file = args.words[0]
    return Launch(
        file=file,
        properties=dict(read_config("properties file", file)),
        overrides=read_pairs("override", args.texts("override")),
        log_level=args.text("log-level") or "info",
    )


def _in_background(launch: Launch) -> int:
    """Starts a process of its own, and waits until it is ready or has failed."""
    log = Path(os.environ.get("LOG_DIR", "logs")) / LOG_NAME
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o644)
    except OSError as error:
        raise CommandError(f"cannot write {log}: {error.strerror}") from None
    child = os.fork()
    if child == 0:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((nothing, 0), (output, 1), (output, 2)):
            os.dup2(source, target)
        return serve(launch)
    _await_ready(child, log)
    print(f"broker started in the background: process {child}, log in {log}")
    return 0


def _await_ready(child: int, log: Path) -> None:
    """`CommandError` with its last words if it ends before it is ready."""
    give_up = time.monotonic() + READY_TIMEOUT_S
    while time.monotonic() < give_up:
        ended, _ = os.waitpid(child, os.WNOHANG)
        text = log.read_text(errors="replace")
        if ended:
            last = text.strip().rpartition("\n")[2]
            raise CommandError(f"the broker did not start: {last or 'it said nothing'}")
        if "started" in text:
            return
        time.sleep(LOOK_S)
    print(f"the broker is not ready yet: see {log}", file=sys.stderr)


COMMAND = Command(
    summary="Start a broker from a properties file; Ctrl-C or SIGTERM stops it.",
    examples=(
        "server.properties",
        "server.properties --override broker.id=1 --override log.dirs=/tmp/broker1",
        "-daemon server.properties",
    ),
    options=(
        Option(
            name="daemon",
            help=f"Start in the background, with output in $LOG_DIR/{LOG_NAME} "
            f"(LOG_DIR: ./logs if not set).",
        ),
        OVERRIDE,
        LOG_LEVEL,
    ),
    words=(0, 1),
    run=run,
)
