"""`kafka-topics`: create, list, describe, grow and delete topics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from barnabas.cli.command import Command, CommandError
from barnabas.cli.common import (
    BOOTSTRAP,
    COMMAND_CONFIG,
    JSON,
    ZOOKEEPER,
    client_properties,
    warn,
)
from barnabas.cli.options import (
    INT_MAX,
    Option,
    Parsed,
    UsageError,
    action_of,
    at_most_one,
    check_belonging,
    required,
)
from barnabas.cli.printing import print_lines, show

if TYPE_CHECKING:
    from barnabas.cli.topic_rows import Filters
    from barnabas.client.topic_admin import TopicAdmin

ACTIONS = ("list", "describe", "create", "alter", "delete")
PARTITION_FILTERS = {
    "under-replicated-partitions": "under_replicated",
    "unavailable-partitions": "unavailable",
    "under-min-isr-partitions": "under_min_isr",
    "at-min-isr-partitions": "at_min_isr",
}
BELONGS_TO = {
    "partitions": {"create", "alter"},
    "replica-assignment": {"create", "alter"},
    "replication-factor": {"create"},
    "config": {"create"},
    "if-not-exists": {"create"},
    "if-exists": {"alter", "delete", "describe"},
    "exclude-internal": {"list", "describe"},
    "json": {"list", "describe"},
    "topic-id": {"list", "describe"},
    "topics-with-overrides": {"describe"},
    "partition-size-limit-per-response": {"list", "describe"},
    **{name: {"describe"} for name in PARTITION_FILTERS},
}
"""Options that make no sense with every action."""

COLLISION_WARNING = (
    "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_') "
    "could collide. To avoid issues it is best to use either, but not both."
)
PARTITIONS_PER_ANSWER = 2000

OPTIONS = (
    BOOTSTRAP,
    ZOOKEEPER,
    COMMAND_CONFIG,
    JSON,
    Option(name="create", help="Create a topic."),
    Option(name="list", help="List the names of topics."),
    Option(name="describe", help="Show topics and their partitions."),
    Option(name="alter", help="Add partitions to topics."),
    Option(name="delete", help="Delete topics."),
    Option(
        name="topic",
        value="NAME",
        help="The topic. Except with --create also a regular expression, or several with commas.",
    ),
    Option(name="topic-id", value="ID", help="With --describe: the topic with this id."),
    Option(
        name="partitions",
        value="NUMBER",
        whole=(1, INT_MAX),
        help="With --create: how many partitions; the broker's num.partitions if not given. "
        "With --alter: how many there shall be in all. More partitions send keys elsewhere than "
        "before.",
    ),
    Option(
        name="replication-factor",
        value="NUMBER",
        whole=(-1, 32767),
        help="With --create: copies of each partition; the broker's default.replication.factor if "
        "not given.",
    ),
    Option(
        name="replica-assignment",
        value="ID:ID,ID:ID,...",
        help="Brokers of each partition, the preferred leader first; with --alter, existing "
        "partitions included.",
    ),
    Option(
        name="config",
        value="KEY=VALUE",
        many=True,
        help="With --create: a setting of the topic, such as retention.ms or cleanup.policy. May "
        "be repeated.",
    ),
    Option(name="if-not-exists", help="With --create: succeed if the topic is there already."),
    Option(name="if-exists", help="Succeed if there is no such topic."),
    Option(name="exclude-internal", help="Leave out internal topics such as __consumer_offsets."),
    Option(
        name="under-replicated-partitions",
        help="With --describe: only partitions that miss an in-sync replica.",
    ),
    Option(name="unavailable-partitions", help="With --describe: only partitions without leader."),
    Option(
        name="under-min-isr-partitions",
        help="With --describe: only partitions with fewer in-sync replicas than "
        "min.insync.replicas.",
    ),
    Option(
        name="at-min-isr-partitions",
        help="With --describe: only partitions with exactly min.insync.replicas in-sync replicas.",
    ),
    Option(
        name="topics-with-overrides",
        help="With --describe: only topics with settings of their own.",
    ),
    Option(
        name="partition-size-limit-per-response",
        value="NUMBER",
        whole=(0, INT_MAX),
        help=f"With --describe: partitions in one answer. Default: {PARTITIONS_PER_ANSWER}.",
    ),
    Option(name="delete-config", value="KEY", many=True, help="No longer supported."),
)


def run(args: Parsed) -> int:
    action = check(args)
    properties = client_properties(args, files=["command-config"], pairs=[])
    from barnabas.client.topic_admin import TopicAdmin

    # Checked before anything is sent, so that a bad value does not depend on a broker.
    creation = create_arguments(args) if action == "create" else {}
    admin = TopicAdmin.connect(properties, warn)
    match action:
        case "create":
            print_lines(_create(admin, args, creation))
        case "list":
            _list(admin, args)
        case "describe":
            _describe(admin, args, properties)
        case "alter":
            _alter(admin, args)
        case "delete":
            _delete(admin, args)
    return 0


def check(args: Parsed) -> str:
    """The action asked for; `UsageError` for options that do not go together."""
    action = action_of(args, ACTIONS)
    if args.has("delete-config"):
        raise UsageError(
            "--delete-config is no longer supported: use kafka-configs --alter --delete-config"
        )
    if action == "alter" and args.has("config"):
        raise UsageError(
            "--config cannot be used with --alter: use kafka-configs --alter --add-config"
        )
    check_belonging(args, BELONGS_TO, action, said=f"--{action}")
    if action in ("create", "alter", "delete"):
        required(args, "topic")
    if action == "alter" and not args.has("partitions"):
        raise UsageError("--partitions is missing: NUMBER")
    if action == "create":
        for option in ("partitions", "replication-factor"):
            at_most_one(args, "replica-assignment", option)
    for option in PARTITION_FILTERS:
        at_most_one(args, option, "topics-with-overrides")
    topic_id = args.text("topic-id")
    if topic_id is not None:
        check_topic_id(topic_id)
    return action


def create_arguments(args: Parsed) -> dict[str, Any]:
    """What `TopicAdmin.create` is called with, apart from the name."""
    assignment_text = args.text("replica-assignment")
    if assignment_text is not None:
        numbers: dict[str, Any] = {"assignment": parse_assignment(assignment_text)}
    else:
        numbers = {
            "partitions": args.number("partitions") or -1,
            "replication_factor": args.number("replication-factor") or -1,
        }
    if args.text("replication-factor") == "0":
        raise UsageError("--replication-factor: 0 is out of range: at least 1")
    return {**numbers, "config": parse_configs(args.texts("config"))}


def parse_configs(pairs: Sequence[str]) -> dict[str, str]:
    configs = {}
    for pair in pairs:
        key, _, value = (part.strip() for part in pair.partition("="))
        if not key or not value:
            raise UsageError(f'--config: "{pair}" is not of the form key=value')
        configs[key] = value
    return configs


def parse_assignment(text: str) -> list[list[int]]:
    """`1:2,2:3` is partition 0 on brokers 1 and 2, partition 1 on brokers 2 and 3."""
    try:
        assignment = [[int(part) for part in each.split(":")] for each in text.split(",")]
    except ValueError:
        raise UsageError(
            f'--replica-assignment: "{text}" is not a list of broker ids like 1:2,2:3'
        ) from None
    for partition, replicas in enumerate(assignment):
        if len(set(replicas)) < len(replicas):
            raise UsageError(
                f"--replica-assignment: partition {partition} names a broker twice: {text}"
            )
        if len(replicas) != len(assignment[0]):
            raise UsageError(
                f"--replica-assignment: partition {partition} has {len(replicas)} replicas, "
                f"partition 0 has {len(assignment[0])}"
            )
    return assignment


def _create(admin: TopicAdmin, args: Parsed, creation: Mapping[str, Any]) -> list[str]:
    from barnabas.client.errors import RefusedError

    name = required(args, "topic")
    if "." in name or "_" in name:
        print_lines([COLLISION_WARNING])
    try:
        admin.create(name, **creation)
    except RefusedError as error:
        if error.name == "TOPIC_ALREADY_EXISTS" and args.has("if-not-exists"):
            return []
        raise
    return [f"Created topic {name}."]


def _list(admin: TopicAdmin, args: Parsed) -> None:
    from barnabas.cli.topic_rows import list_json, select_names

    names = select_names(
        admin.names(), args.text("topic"), exclude_internal=args.has("exclude-internal")
    )
    show(args, lines=lambda: names, document=lambda: list_json(names))


def _describe(admin: TopicAdmin, args: Parsed, properties: Mapping[str, str]) -> None:
    from barnabas.cli.topic_rows import describe_json, describe_lines, describe_rows
    from barnabas.client.replica_details import add_replica_details

    topic_id = args.text("topic-id")
    if topic_id is None:
        topics = admin.describe(_chosen(admin, args))
        limit = args.number("partition-size-limit-per-response") or PARTITIONS_PER_ANSWER
        topics = add_replica_details(topics, properties, limit=limit)
    else:
        topics = [each for each in admin.describe(admin.names()) if each.topic_id == topic_id]
        if not topics and not args.has("if-exists"):
            raise CommandError(f"TopicId '{topic_id}' does not exist as expected")
    configs = admin.configs([topic.name for topic in topics])
    live_brokers = admin.live_brokers() if args.has("unavailable-partitions") else set()
    rows = describe_rows(topics, configs, live_brokers, _filters(args))
    show(args, lines=lambda: describe_lines(rows), document=lambda: describe_json(rows))


def check_topic_id(text: str) -> None:
    from barnabas.base.ids import parse_id

    try:
        parse_id(text)
    except ValueError as error:
        raise UsageError(f"--topic-id: {error}") from None


def _filters(args: Parsed) -> Filters:
    from barnabas.cli.topic_rows import Filters

    return Filters(
        overridden_only=args.has("topics-with-overrides"),
        **{field: args.has(option) for option, field in PARTITION_FILTERS.items()},
    )


def _alter(admin: TopicAdmin, args: Parsed) -> None:
    total = args.number("partitions")
    assert total is not None, "checked before"
    assignment_text = args.text("replica-assignment")
    assignment = parse_assignment(assignment_text) if assignment_text is not None else []
    for topic in admin.describe(_chosen(admin, args)):
        admin.add_partitions(
            topic.name, total=total, assignment=assignment[len(topic.partitions) :]
        )


def _delete(admin: TopicAdmin, args: Parsed) -> None:
    names = _chosen(admin, args)
    if names:
        admin.delete(names)


def _chosen(admin: TopicAdmin, args: Parsed) -> list[str]:
    """The topics that `--topic` means; it is an error if there are none, unless told otherwise."""
    from barnabas.cli.topic_rows import select_names

    pattern = args.text("topic")
    known = admin.names()
    names = select_names(known, pattern, exclude_internal=args.has("exclude-internal"))
    if not names and pattern and not args.has("if-exists"):
        from barnabas.cli.near import did_you_mean

        hint = did_you_mean(pattern, known)
        raise CommandError(f"Topic '{pattern}' does not exist as expected{hint}")
    return names


COMMAND = Command(
    summary="Create, list, describe, change and delete topics.",
    examples=(
        "--create --topic orders --partitions 6 --replication-factor 1",
        "--create --topic latest --config cleanup.policy=compact --if-not-exists",
        "--list",
        "--describe --topic orders",
        "--alter --topic orders --partitions 12",
        "--delete --topic orders",
    ),
    options=OPTIONS,
    run=run,
    failure="Error while executing topic command :",
)
