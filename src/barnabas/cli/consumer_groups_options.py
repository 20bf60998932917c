"""Options of `kafka-consumer-groups`, and which of them go together."""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.cli.common import BOOTSTRAP, COMMAND_CONFIG, JSON, NEW_CONSUMER, ZOOKEEPER
from barnabas.cli.options import (
    INT_MAX,
    LONG_MAX,
    Option,
    Parsed,
    UsageError,
    action_of,
    at_most_one,
    check_belonging,
    required,
)

ACTIONS = ("list", "describe", "delete", "reset-offsets", "delete-offsets", "validate-regex")
ON_GROUPS = {"describe", "delete", "reset-offsets"}
RESET = {"reset-offsets"}
SCENARIOS = (
    "to-earliest",
    "to-latest",
    "to-current",
    "to-offset",
    "shift-by",
    "by-duration",
    "to-datetime",
    "from-file",
)
VIEWS = ("offsets", "members", "state")
BELONGS_TO = {
    "group": {*ON_GROUPS, "delete-offsets"},
    "all-groups": ON_GROUPS,
    "topic": {"reset-offsets", "delete-offsets"},
    "all-topics": RESET,
    "state": {"list", "describe"},
    "type": {"list"},
    "offsets": {"describe"},
    "members": {"describe"},
    "verbose": {"describe"},
    "json": {"list", "describe"},
    "dry-run": RESET,
    "execute": RESET,
    "export": RESET,
    **dict.fromkeys(SCENARIOS, RESET),
}
"""Options that make no sense with every action."""
STATES = (
    "PreparingRebalance",
    "CompletingRebalance",
    "Stable",
    "Assigning",
    "Reconciling",
    "Empty",
    "Dead",
)
TYPES = ("Classic", "Consumer")
DEFAULT_TIMEOUT_MS = 5000
LONGEST_TIMEOUT_MS = 3_600_000
WHOLE = (-LONG_MAX - 1, LONG_MAX)

OPTIONS = (
    BOOTSTRAP,
    ZOOKEEPER,
    COMMAND_CONFIG,
    JSON,
    Option(name="list", help="List the names of groups."),
    Option(name="describe", help="Show groups: offsets and lag, or members, or state."),
    Option(name="delete", help="Delete groups that have no members, and their offsets."),
    Option(name="reset-offsets", help="Set the offsets of groups that have no members."),
    Option(name="delete-offsets", help="Have a group forget its offsets of some topics."),
    Option(
        name="validate-regex",
        value="REGEX",
        help="Say whether a member may subscribe to topics with this regular expression.",
    ),
    Option(name="group", value="NAME", many=True, help="The group. May be repeated."),
    Option(name="all-groups", help="All groups, in place of --group."),
    Option(
        name="topic",
        value="NAME[:0,1]",
        many=True,
        help="With --reset-offsets and --delete-offsets: a topic, or some of its partitions. May "
        "be repeated.",
    ),
    Option(
        name="all-topics",
        help="With --reset-offsets: all partitions that the group has an offset of.",
    ),
    Option(
        name="state",
        value="STATE,...",
        alone="",
        help="With --list: show the states of groups, or only groups in these states: "
        f"{', '.join(STATES)}. With --describe: show state and coordinator.",
    ),
    Option(
        name="type",
        value="TYPE,...",
        alone="",
        help=f"With --list: show the types of groups, or only these: {', '.join(TYPES)}.",
    ),
    Option(name="offsets", help="With --describe: show offsets and lag. This is the default."),
    Option(name="members", help="With --describe: show members."),
    Option(name="verbose", help="With --describe: show assignments, epochs, leader epochs."),
    Option(name="to-earliest", help="With --reset-offsets: to the start of each partition."),
    Option(name="to-latest", help="With --reset-offsets: to the end of each partition."),
    Option(
        name="to-current",
        help="With --reset-offsets: to the offset that is set; to the end if there is none.",
    ),
    Option(
        name="to-offset",
        value="OFFSET",
        whole=WHOLE,
        help="With --reset-offsets: to this offset, or the nearest one that there is.",
    ),
    Option(
        name="shift-by",
        value="NUMBER",
        whole=WHOLE,
        help="With --reset-offsets: forward, or back if negative, by so many records.",
    ),
    Option(
        name="by-duration",
        value="PnDTnHnMnS",
        help="With --reset-offsets: to the first record that is not older than this, such as P7D "
        "or PT1H30M.",
    ),
    Option(
        name="to-datetime",
        value="YYYY-MM-DDThh:mm:ss.sss",
        help="With --reset-offsets: to the first record that is not older. UTC, unless Z or "
        "+hh:mm follows.",
    ),
    Option(
        name="from-file",
        value="FILE",
        help="With --reset-offsets: to what a file says that --export has written.",
    ),
    Option(name="dry-run", help="With --reset-offsets: only show what would be set."),
    Option(name="execute", help="With --reset-offsets: set the offsets."),
    Option(name="export", help="With --reset-offsets: print the offsets as CSV."),
    Option(
        name="timeout",
        value="MS",
        whole=(1, INT_MAX),
        help=f"How long to wait for brokers. Default: {DEFAULT_TIMEOUT_MS}.",
    ),
    NEW_CONSUMER,
)


def check(args: Parsed) -> str:
    """The action asked for; `UsageError` for options that do not go together."""
    action = action_of(args, ACTIONS)
    check_belonging(args, BELONGS_TO, action, said=f"--{action}")
    if "" in args.texts("group"):
        raise UsageError("--group: a group has a name")
    if action in ON_GROUPS and at_most_one(args, "group", "all-groups") is None:
        raise UsageError(f"--{action} needs --group or --all-groups")
    if action == "list":
        chosen(args, "state", STATES)
        chosen(args, "type", TYPES)
    if action == "describe":
        at_most_one(args, *VIEWS)
        if args.text("state"):
            raise UsageError("--state takes no value with --describe")
    if action == "delete-offsets":
        _check_delete_offsets(args)
    if action == "reset-offsets":
        _check_reset(args)
    return action


def _check_delete_offsets(args: Parsed) -> None:
    from barnabas.cli.consumer_groups_plan import parse_topics

    required(args, "group")
    required(args, "topic")
    if len(args.texts("group")) > 1:
        raise UsageError("--group is given twice")
    parse_topics(args.texts("topic"))


def _check_reset(args: Parsed) -> None:
    from barnabas.cli.consumer_groups_reset import check_values

    if at_most_one(args, *SCENARIOS) is None:
        listed = ", ".join(f"--{scenario}" for scenario in SCENARIOS)
        raise UsageError(f"--reset-offsets needs one of {listed}")
    at_most_one(args, "dry-run", "execute")
    scope = at_most_one(args, "topic", "all-topics")
    if scope is None and not args.has("from-file"):
        raise UsageError("--reset-offsets needs --topic or --all-topics")
    check_values(args)


def chosen(args: Parsed, option: str, known: Sequence[str]) -> set[str]:
    """What a list of names means, upper or lower case; empty if there is none."""
    text = args.text(option)
    if not text:
        return set()
    names = {name.lower(): name for name in known}
    parts = [part.strip().lower() for part in text.split(",")]
    if not all(part in names for part in parts):
        raise UsageError(f"--{option}: '{text}': valid {option}s are: {', '.join(known)}")
    return {names[part] for part in parts}


def timeout_s(args: Parsed) -> float:
    """As long as librdkafka allows at most."""
    return min(args.number("timeout") or DEFAULT_TIMEOUT_MS, LONGEST_TIMEOUT_MS) / 1000
