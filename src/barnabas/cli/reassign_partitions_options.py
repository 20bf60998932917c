"""The options of `kafka-reassign-partitions`, and which of them go together."""

from __future__ import annotations

from dataclasses import replace

from barnabas.cli.common import BOOTSTRAP, BOOTSTRAP_CONTROLLER, COMMAND_CONFIG, JSON, ZOOKEEPER
from barnabas.cli.options import (
    LONG_MAX,
    Option,
    Parsed,
    UsageError,
    action_of,
    check_belonging,
    required,
)

NEEDED = {
    "verify": ("reassignment-json-file",),
    "generate": ("topics-to-move-json-file", "broker-list"),
    "execute": ("reassignment-json-file",),
    "cancel": ("reassignment-json-file",),
    "list": (),
}
"""The actions, and the options that each cannot do without."""
BELONGS_TO = {
    "reassignment-json-file": {"verify", "execute", "cancel"},
    "topics-to-move-json-file": {"generate"},
    "broker-list": {"generate"},
    "disable-rack-aware": {"generate"},
    "throttle": {"execute"},
    "replica-alter-log-dirs-throttle": {"execute"},
    "additional": {"execute"},
    "disallow-replication-factor-change": {"execute"},
    "bootstrap-controller": {"cancel", "list"},
    "timeout": {"execute", "cancel"},
    "preserve-throttles": {"verify", "cancel", "execute"},
    "wait": {"execute", "verify"},
    "json": {"list"},
}
DEFAULT_TIMEOUT_MS = 10_000
RATE = (-1, LONG_MAX)
"""-1, as in Apache Kafka's tool, is no throttle."""

OPTIONS = (
    replace(BOOTSTRAP, aliases=()),  # --broker-list are ids here, not addresses
    ZOOKEEPER,
    BOOTSTRAP_CONTROLLER,
    COMMAND_CONFIG,
    JSON,
    Option(name="generate", help="Propose where the replicas of some topics could be."),
    Option(name="execute", help="Start to move replicas to where a file says."),
    Option(
        name="verify",
        help="Show how far the moves of a file are; if none is under way, remove the throttles.",
    ),
    Option(name="cancel", help="End the moves of a file: replicas stay where they were."),
    Option(name="list", help="List the partitions that are being moved."),
    Option(
        name="reassignment-json-file",
        value="FILE",
        help="With --execute, --verify and --cancel: where replicas are to be, as "
        '{"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1, 2]}]}. '
        '"log_dirs" may stand beside "replicas": a directory of each broker, or "any".',
    ),
    Option(
        name="topics-to-move-json-file",
        value="FILE",
        help='With --generate: the topics, as {"version": 1, "topics": [{"topic": "t"}]}.',
    ),
    Option(
        name="broker-list",
        value="ID,...",
        help="With --generate: the brokers that the replicas are to be on.",
    ),
    Option(name="disable-rack-aware", help="With --generate: pay no attention to racks."),
    Option(
        name="throttle",
        value="BYTES",
        whole=RATE,
        help="With --execute: copy at most so many bytes a second at each broker. Once the moves "
        "are done, --verify removes the limit.",
    ),
    Option(
        name="replica-alter-log-dirs-throttle",
        value="BYTES",
        whole=RATE,
        help="With --execute: copy at most so many bytes a second between the log directories of "
        "a broker.",
    ),
    Option(
        name="additional",
        help="With --execute: also while other moves are under way; changes their throttle.",
    ),
    Option(
        name="disallow-replication-factor-change",
        help="With --execute: refuse a plan by which a partition has more or fewer replicas.",
    ),
    Option(
        name="timeout",
        value="MS",
        whole=(0, LONG_MAX),
        help="How long to wait until moves between log directories have begun. "
        f"Default: {DEFAULT_TIMEOUT_MS}.",
    ),
    Option(name="preserve-throttles", help="Leave throttles as they are."),
    Option(
        name="wait",
        help="With --execute and --verify: wait until all moves of the file are done, then verify "
        "them. Shows how far they are on a terminal; Ctrl-C ends the waiting, not the moves.",
    ),
)


def check(args: Parsed) -> str:
    """The action asked for; `UsageError` for options that do not go together."""
    action = action_of(args, NEEDED)
    check_belonging(args, BELONGS_TO, action, said=f"--{action}")
    for option in NEEDED[action]:
        required(args, option)
    if action == "execute" and args.has("preserve-throttles") and not args.has("wait"):
        raise UsageError("--preserve-throttles cannot be used with --execute without --wait")
    return action
