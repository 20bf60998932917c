"""`kafka-transactions`: look at transactions and at what producers left open, end what hangs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from barnabas.cli.command import Command, CommandError
from barnabas.cli.common import BOOTSTRAP, COMMAND_CONFIG, JSON, client_properties
from barnabas.cli.options import (
    INT_MAX,
    LONG_MAX,
    Option,
    Parsed,
    UsageError,
    check_belonging,
    command_of,
    required,
)
from barnabas.cli.printing import show

if TYPE_CHECKING:
    import re

    from barnabas.cli.transactions_rows import OpenTransaction
    from barnabas.client.brokers import Place
    from barnabas.client.transaction_admin import Transaction, TransactionAdmin

NEEDED = {
    "list": (),
    "describe": ("transactional-id",),
    "describe-producers": ("topic", "partition"),
    "abort": ("topic", "partition"),
    "find-hanging": (),
    "forceTerminateTransaction": ("transactional-id",),
}
"""The commands, and the options that each cannot do without."""
BELONGS_TO = {
    "transactional-id": {"describe", "forceTerminateTransaction"},
    "transactional-id-pattern": {"list"},
    "duration-filter": {"list"},
    "topic": {"describe-producers", "abort", "find-hanging"},
    "partition": {"describe-producers", "abort", "find-hanging"},
    "broker-id": {"describe-producers", "find-hanging"},
    "max-transaction-timeout": {"find-hanging"},
    "start-offset": {"abort"},
    "producer-id": {"abort"},
    "producer-epoch": {"abort"},
    "coordinator-epoch": {"abort"},
    "json": {"list", "describe", "describe-producers", "find-hanging"},
}
DEFAULT_TIMEOUT_MIN = 15
PARTITIONS_AT_ONCE = 500

OPTIONS = (
    BOOTSTRAP,
    COMMAND_CONFIG,
    JSON,
    Option(
        name="transactional-id",
        aliases=("transactionalId",),
        value="ID",
        help="With describe and forceTerminateTransaction: the transactional id.",
    ),
    Option(
        name="transactional-id-pattern",
        value="REGEX",
        help="With list: only transactional ids that this regular expression matches as a whole.",
    ),
    Option(
        name="duration-filter",
        value="MS",
        whole=(0, LONG_MAX),
        help="With list: only transactions that have been running for longer than this.",
    ),
    Option(name="topic", value="NAME", help="The topic."),
    Option(
        name="partition", value="NUMBER", whole=(0, INT_MAX), help="The partition of the topic."
    ),
    Option(
        name="broker-id",
        value="ID",
        whole=(0, INT_MAX),
        help="With describe-producers: ask this replica, not the leader. With find-hanging: only "
        "partitions that this broker has a replica of.",
    ),
    Option(
        name="max-transaction-timeout",
        value="MINUTES",
        whole=(-INT_MAX - 1, INT_MAX),
        help="With find-hanging: pass over producers that wrote something less long ago. "
        f"Default: {DEFAULT_TIMEOUT_MIN}.",
    ),
    Option(
        name="start-offset",
        value="OFFSET",
        whole=(0, LONG_MAX),
        help="With abort: where the transaction begins in the partition.",
    ),
    Option(
        name="producer-id",
        value="ID",
        whole=(0, LONG_MAX),
        help="With abort, where brokers are too old for --start-offset: the producer.",
    ),
    Option(
        name="producer-epoch",
        value="EPOCH",
        whole=(0, 32767),
        help="With --producer-id: its epoch.",
    ),
    Option(
        name="coordinator-epoch",
        value="EPOCH",
        whole=(-1, INT_MAX),
        help="With --producer-id: the epoch of the coordinator.",
    ),
)


def run(args: Parsed) -> int:
    command = check(args)
    properties = client_properties(args, files=["command-config"], pairs=[])
    from barnabas.client.transaction_admin import TransactionAdmin

    with TransactionAdmin.connect(properties) as admin:
        match command:
            case "list":
                _list(admin, args)
            case "describe":
                _describe(admin, args)
            case "describe-producers":
                _describe_producers(admin, args)
            case "abort":
                _abort(admin, args)
            case "find-hanging":
                _find_hanging(admin, args)
            case "forceTerminateTransaction":
                _terminate(admin, args)
    return 0


def check(args: Parsed) -> str:
    """The command asked for; `UsageError` for options that do not go together."""
    command = command_of(args, NEEDED)
    check_belonging(args, BELONGS_TO, command, said=command)
    for option in NEEDED[command]:
        required(args, option)
    if command == "abort":
        _check_abort(args)
    if command == "find-hanging":
        if not args.has("topic") and not args.has("broker-id"):
            raise UsageError("find-hanging needs --topic or --broker-id, to limit the search")
        if args.has("partition") and not args.has("topic"):
            raise UsageError("--partition needs --topic")
    id_pattern(args)
    return command


def _check_abort(args: Parsed) -> None:
    if args.has("start-offset"):
        return
    if not args.has("producer-id"):
        raise UsageError(
            "abort needs --start-offset, or --producer-id, --producer-epoch and "
            "--coordinator-epoch where brokers are older than 3.0"
        )
    for option in ("producer-epoch", "coordinator-epoch"):
        required(args, option)


def id_pattern(args: Parsed) -> re.Pattern[str] | None:
    import re

    text = args.text("transactional-id-pattern")
    try:
        return re.compile(text) if text else None
    except re.error as error:
        raise UsageError(
            f'--transactional-id-pattern: "{text}" is not a regular expression: {error}'
        ) from None


def _list(admin: TransactionAdmin, args: Parsed) -> None:
    from barnabas.cli.transactions_rows import list_json, list_lines

    longer_than = args.number("duration-filter")
    with _failing("Failed to list transactions"):
        listings = admin.listings(longer_than_ms=-1 if longer_than is None else longer_than)
    pattern = id_pattern(args)
    if pattern is not None:
        listings = [each for each in listings if pattern.fullmatch(each.transactional_id)]
    show(args, lines=lambda: list_lines(listings), document=lambda: list_json(listings))


def _describe(admin: TransactionAdmin, args: Parsed) -> None:
    from barnabas.cli.transactions_rows import describe_json, describe_lines

    transactional_id = required(args, "transactional-id")
    with _failing(f"Failed to describe transaction state of transactional-id `{transactional_id}`"):
        transaction = admin.describe(transactional_id)
    show(
        args,
        lines=lambda: describe_lines(transaction, _now_ms()),
        document=lambda: describe_json(transaction),
    )


def _describe_producers(admin: TransactionAdmin, args: Parsed) -> None:
    from barnabas.cli.transactions_rows import producers_json, producers_lines

    place = _place(args)
    broker_id = args.number("broker-id")
    where = "leader" if broker_id is None else f"broker {broker_id}"
    with _failing(f"Failed to describe producers for partition {_name(place)} on {where}"):
        producers = admin.producers([place], broker_id=broker_id)[place]
    show(args, lines=lambda: producers_lines(producers), document=lambda: producers_json(producers))


def _abort(admin: TransactionAdmin, args: Parsed) -> None:
    place = _place(args)
    start = args.number("start-offset")
    if start is None:
        producer_id = args.number("producer-id")
        producer_epoch = args.number("producer-epoch")
        coordinator_epoch = args.number("coordinator-epoch")
        assert producer_id is not None, "checked before"
        assert producer_epoch is not None, "checked before"
        assert coordinator_epoch is not None, "checked before"
    else:
        with _failing(f"Failed to validate producer state for partition {_name(place)}"):
            producers = admin.producers([place])[place]
        found = next((each for each in producers if each.open_since == start), None)
        if found is None:
            raise CommandError(
                f"Could not find any open transactions starting at offset {start} "
                f"on partition {_name(place)}"
            )
        producer_id, producer_epoch = found.producer_id, found.producer_epoch
        coordinator_epoch = found.coordinator_epoch
    with _failing(
        f"Failed to abort the transaction of producer {producer_id} on partition {_name(place)}"
    ):
        admin.abort(
            place,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            # Of a producer that no coordinator ever ended a transaction of, none is known: 0 is
            # not greater than that of any coordinator.
            coordinator_epoch=max(coordinator_epoch, 0),
        )


def _find_hanging(admin: TransactionAdmin, args: Parsed) -> None:
    from barnabas.cli.transactions_rows import hanging, hanging_json, hanging_lines, long_open

    broker_id = args.number("broker-id")
    minutes = args.number("max-transaction-timeout")
    limit_ms = (DEFAULT_TIMEOUT_MIN if minutes is None else minutes) * 60_000
    candidates: list[OpenTransaction] = []
    places = _searched(admin, args)
    for at in range(0, len(places), PARTITIONS_AT_ONCE):
        batch = places[at : at + PARTITIONS_AT_ONCE]
        where = "their leaders" if broker_id is None else f"broker {broker_id}"
        with _failing(f"Failed to describe producers for {len(batch)} partitions on {where}"):
            producers = admin.producers(batch, broker_id=broker_id)
        candidates += long_open(producers, _now_ms(), limit_ms)
    ids = _transactional_ids(admin, {each.producer.producer_id for each in candidates})
    found = hanging(candidates, ids, _transactions(admin, sorted(set(ids.values()))))
    show(args, lines=lambda: hanging_lines(found, _now_ms()), document=lambda: hanging_json(found))


def _searched(admin: TransactionAdmin, args: Parsed) -> list[Place]:
    topic = args.text("topic")
    if topic is not None and args.has("partition"):
        return [_place(args)]
    broker_id = args.number("broker-id")
    with _failing("Failed to describe topics"):
        places = admin.places(None if topic is None else [topic])
    return sorted(
        place for place, where in places.items() if broker_id is None or broker_id in where.replicas
    )


def _transactional_ids(admin: TransactionAdmin, producer_ids: set[int]) -> dict[int, str]:
    if not producer_ids:
        return {}
    with _failing(f"Failed to list transactions for {len(producer_ids)} producers"):
        listings = admin.listings(producer_ids=producer_ids)
    return {each.producer_id: each.transactional_id for each in listings}


def _transactions(
    admin: TransactionAdmin, transactional_ids: Sequence[str]
) -> dict[str, Transaction | None]:
    from barnabas.client.errors import RefusedError

    found: dict[str, Transaction | None] = {}
    with _failing(f"Failed to describe {len(transactional_ids)} transactions"):
        for transactional_id in transactional_ids:
            try:
                found[transactional_id] = admin.describe(transactional_id)
            except RefusedError as error:
                if error.name != "TRANSACTIONAL_ID_NOT_FOUND":
                    raise
                found[transactional_id] = None
    return found


def _terminate(admin: TransactionAdmin, args: Parsed) -> None:
    transactional_id = required(args, "transactional-id")
    with _failing(f"Failed to force terminate transactionalId `{transactional_id}`"):
        admin.terminate(transactional_id)


@contextmanager
def _failing(what: str) -> Iterator[None]:
    """What was being done goes before the words of the client."""
    from barnabas.client.errors import ClientError

    try:
        yield
    except ClientError as error:
        if error.before_any_answer:
            raise
        raise CommandError(f"{what}: {error}") from None


def _place(args: Parsed) -> Place:
    number = args.number("partition")
    assert number is not None, "checked before"
    return required(args, "topic"), number


def _name(place: Place) -> str:
    topic, number = place
    return f"{topic}-{number}"


def _now_ms() -> int:
    from barnabas.base.clock import SYSTEM_CLOCK

    return SYSTEM_CLOCK.now_ms()


COMMAND = Command(
    summary="Look at transactions, and end those that hang.",
    examples=(
        "list",
        "describe --transactional-id orders-1",
        "describe-producers --topic orders --partition 0",
        "find-hanging --broker-id 1",
        "abort --topic orders --partition 0 --start-offset 1234",
        "forceTerminateTransaction --transactional-id orders-1",
    ),
    options=OPTIONS,
    run=run,
    words=(0, 1),
    word_values=tuple(NEEDED),
    notes=(
        f"Commands: {', '.join(NEEDED)}.",
        (
            "A transaction hangs if it is open in a partition and no coordinator knows of it: "
            "whoever reads committed records waits for it for ever. abort writes the marker that "
            "ends it."
        ),
    ),
)
