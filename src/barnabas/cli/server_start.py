"""`kafka-server-start`: a broker from a properties file, in the foreground or behind the back."""

from __future__ import annotations

from barnabas.cli.command import Command
from barnabas.cli.common import read_pairs
from barnabas.cli.options import Option, Parsed, UsageError
from barnabas.cli.start import LOG_LEVEL, OVERRIDE, Launch, read_config, serve

LOG_NAME = "kafkaServer.out"


def run(args: Parsed) -> int:
    launch = launch_of(args)
    if not args.has("daemon"):
        return serve(launch)
    from barnabas.cli.background import run_in_background

    return run_in_background("broker", LOG_NAME, ready="started", serve=lambda: serve(launch))


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
    words_are="files",
    run=run,
)
