"""Entry points: find the tool, read its command line, run it, and turn what was raised into one
line on stderr and an exit status.

0 is success and nothing else.  1: anything wrong.  130: Ctrl-C.  143: SIGTERM.  141: the reader of
our output went away (`| head`), which nobody needs to be told.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from barnabas.cli.command import Command

FAILED = 1
INTERRUPTED = 130
PIPE_CLOSED = 141
TERMINATED = 143


@dataclass(frozen=True, slots=True)
class Tool:
    module: str
    script: str
    """Name of the script that starts it without `barnabas`, if there is one."""
    summary: str
    aliases: tuple[str, ...] = ()
    """Other names of the script that are in people's notes."""


TOOLS = {
    "start": Tool("barnabas.cli.start", "", "Start a broker on this machine."),
    "server-start": Tool(
        "barnabas.cli.server_start", "kafka-server-start", "Start a broker from a properties file."
    ),
    "zookeeper-server-start": Tool(
        "barnabas.cli.zookeeper_server_start",
        "zookeeper-server-start",
        "Start the ZooKeeper that is installed on this machine.",
    ),
    "topics": Tool(
        "barnabas.cli.topics", "kafka-topics", "Create, list, describe, change and delete topics."
    ),
    "console-producer": Tool(
        "barnabas.cli.console_producer", "kafka-console-producer", "Send lines of text as records."
    ),
    "console-consumer": Tool(
        "barnabas.cli.console_consumer", "kafka-console-consumer", "Print records as they arrive."
    ),
    "consumer-groups": Tool(
        "barnabas.cli.consumer_groups",
        "kafka-consumer-groups",
        "List, describe and delete consumer groups, and move their offsets.",
    ),
    "transactions": Tool(
        "barnabas.cli.transactions",
        "kafka-transactions",
        "Look at transactions, and end those that hang.",
    ),
    "configs": Tool(
        "barnabas.cli.configs",
        "kafka-configs",
        "Show and change settings of topics, brokers, groups, users and clients.",
    ),
    "server-stop": Tool(
        "barnabas.cli.server_stop",
        "kafka-server-stop",
        "Stop brokers of this machine cleanly.",
    ),
    "reassign-partitions": Tool(
        "barnabas.cli.reassign_partitions",
        "kafka-reassign-partitions",
        "Move replicas of partitions between brokers.",
    ),
    "leader-election": Tool(
        "barnabas.cli.leader_election",
        "kafka-leader-election",
        "Elect leaders of partitions: the preferred ones, or unclean ones.",
    ),
    "get-offsets": Tool(
        "barnabas.cli.get_offsets",
        "kafka-get-offsets",
        "Print first, last and other offsets of partitions.",
    ),
    "delete-records": Tool(
        "barnabas.cli.delete_records",
        "kafka-delete-records",
        "Delete the records of partitions up to an offset.",
    ),
    "log-dirs": Tool(
        "barnabas.cli.log_dirs",
        "kafka-log-dirs",
        "Show what lies in the log directories of brokers.",
    ),
    "dump-log": Tool(
        "barnabas.cli.dump_log",
        "kafka-dump-log",
        "Print the batches and records of log files.",
    ),
    "replica-verification": Tool(
        "barnabas.cli.replica_verification",
        "kafka-replica-verification",
        "Compare the replicas of partitions with each other.",
        ("kafka-replica-validation",),
    ),
    "broker-api-versions": Tool(
        "barnabas.cli.broker_api_versions",
        "kafka-broker-api-versions",
        "Show which requests the brokers answer.",
    ),
    "features": Tool(
        "barnabas.cli.features",
        "kafka-features",
        "Show and change the levels of features.",
    ),
    "cluster": Tool(
        "barnabas.cli.cluster",
        "kafka-cluster",
        "Show the id and the endpoints of a cluster, or take a broker out of it.",
    ),
    "metadata-quorum": Tool(
        "barnabas.cli.metadata_quorum",
        "kafka-metadata-quorum",
        "Show who controls the cluster.",
    ),
    "producer-perf-test": Tool(
        "barnabas.cli.producer_perf_test",
        "kafka-producer-perf-test",
        "Measure how fast records are sent.",
    ),
    "consumer-perf-test": Tool(
        "barnabas.cli.consumer_perf_test",
        "kafka-consumer-perf-test",
        "Measure how fast records are received.",
    ),
    "e2e-latency": Tool(
        "barnabas.cli.e2e_latency",
        "kafka-e2e-latency",
        "Measure the time from sending a record to receiving it.",
    ),
    "groups": Tool(
        "barnabas.cli.groups",
        "",
        "Watch how far groups are behind.",
    ),
    "completion": Tool(
        "barnabas.cli.completion",
        "",
        "Print what makes a shell complete these commands.",
    ),
}


def main() -> NoReturn:
    """`barnabas <command> ...`"""
    _exit(_barnabas(sys.argv[1:]))


def script() -> NoReturn:
    """`kafka-topics ...`, `kafka-topics.sh ...`: the name by which it was called says which tool."""
    name = os.path.basename(sys.argv[0]).removesuffix(".sh")
    tool = next((tool for tool in TOOLS.values() if name in (tool.script, *tool.aliases)), None)
    if tool is None:
        _exit(_complain(name, 'no tool has this name: "barnabas help" lists them'))
    _exit(run_tool(name, tool.module, sys.argv[1:]))


def _barnabas(argv: Sequence[str]) -> int:
    if not argv:
        sys.stderr.write(_overview())
        return FAILED
    name = argv[0]
    if name in ("--version", "version"):
        return _write(f"barnabas {_version()}\n")
    if name in ("--help", "-h", "help"):
        if len(argv) < 2 or argv[1].startswith("-"):
            return _write(_overview())
        name, argv = argv[1], [argv[1], "--help"]
    tool = TOOLS.get(name)
    if tool is None:
        what = "option" if name.startswith("-") else "command"
        return _complain("barnabas", f'unknown {what} "{name}": "barnabas help" lists the commands')
    return run_tool(f"barnabas {name}", tool.module, argv[1:])


def run_tool(program: str, module: str, argv: Sequence[str]) -> int:
    """Runs one tool to its end.  Never raises; all that it has to say is said when it returns."""
    from barnabas.cli.command import CommandError, Terminated
    from barnabas.cli.options import UsageError, parse
    from barnabas.client.errors import ClientError

    command: Command = import_module(module).COMMAND
    try:
        args = parse(command.options, argv, words=command.words)
        if args.has("help"):
            return _write(_help(program, command))
        if args.has("version"):
            return _write(f"{_version()}\n")
        status = command.run(args)
        sys.stdout.flush()
    except UsageError as error:
        return _complain(program, str(error))
    except CommandError as error:
        return _complain(command.failure or program, str(error))
    except Terminated:
        return TERMINATED
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        return PIPE_CLOSED
    except ClientError as error:
        return _complain("" if error.before_any_answer else command.failure or program, str(error))
    return status


def _complain(who: str, what: str) -> int:
    separator = "" if not who else " " if who.endswith(":") else ": "
    print(f"{who}{separator}{what}", file=sys.stderr)
    return FAILED


def _write(text: str) -> int:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        return PIPE_CLOSED
    return 0


def _exit(status: int) -> NoReturn:
    """Ends the process at once: nothing that could still print a traceback runs after this."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            pass  # the reader is gone; the status says so
    os._exit(status)


def _version() -> str:
    from barnabas import __version__

    return __version__


def _help(program: str, command: Command) -> str:
    from barnabas.cli.options import help_text

    return help_text(
        program,
        summary=command.summary,
        examples=command.examples,
        options=command.options,
        notes=command.notes,
        width=_columns(),
    )


def _columns() -> int:
    try:
        columns = os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):
        columns = 100
    return max(40, min(columns, 100))


def _overview() -> str:
    width = max(map(len, TOOLS))
    lines = [
        "Barnabas, a Kafka-compatible streaming platform.",
        "",
        "Usage: barnabas <command> [options]",
        "",
        "Commands",
    ]
    for name, tool in TOOLS.items():
        also = f" (also: {tool.script})" if tool.script else ""
        lines.append(f"  {name:<{width}}  {tool.summary}{also}")
    lines += [
        "",
        '"barnabas <command> --help" shows the options of a command.',
        '"barnabas --version" shows the version.',
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
