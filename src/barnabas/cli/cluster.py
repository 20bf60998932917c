"""`kafka-cluster`: the id and the endpoints of a cluster, and the end of a broker's membership."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from barnabas.cli.command import Command, CommandError
from barnabas.cli.common import BOOTSTRAP, BOOTSTRAP_CONTROLLER, JSON, ZOOKEEPER, client_properties
from barnabas.cli.options import (
    INT_MAX,
    Option,
    Parsed,
    UsageError,
    check_belonging,
    command_of,
    required,
)
from barnabas.cli.printing import print_lines, show

if TYPE_CHECKING:
    from barnabas.client.cluster_admin import ClusterAdmin, ClusterView, Endpoint

COMMANDS = ("cluster-id", "list-endpoints", "unregister")
BELONGS_TO = {
    "id": {"unregister"},
    "include-fenced-brokers": {"list-endpoints"},
    "json": {"cluster-id", "list-endpoints"},
}
NARROWEST_RACK = 10
"""Columns of racks where no node has one."""

OPTIONS = (
    Option(
        name=BOOTSTRAP.name,
        aliases=(*BOOTSTRAP.aliases, "b"),
        value=BOOTSTRAP.value,
        help=BOOTSTRAP.help,
    ),
    Option(
        name=BOOTSTRAP_CONTROLLER.name,
        aliases=("C",),
        value=BOOTSTRAP_CONTROLLER.value,
        help=BOOTSTRAP_CONTROLLER.help,
    ),
    ZOOKEEPER,
    Option(
        name="config",
        aliases=("c", "command-config"),
        value="FILE",
        help="Java-style properties file with settings of the client.",
    ),
    JSON,
    Option(
        name="id",
        aliases=("i",),
        value="ID",
        whole=(0, INT_MAX),
        help="With unregister: the broker.",
    ),
    Option(
        name="include-fenced-brokers",
        help="With list-endpoints: also brokers that are known, but not there.",
    ),
)


def run(args: Parsed) -> int:
    command = check(args)
    properties = client_properties(args, files=["config"], pairs=[])
    from barnabas.client.cluster_admin import ClusterAdmin

    with ClusterAdmin.connect(properties) as admin:
        match command:
            case "cluster-id":
                cluster_id = admin.view().cluster_id
                show(
                    args,
                    lines=lambda: [f"Cluster ID: {cluster_id}"],
                    document=lambda: {"cluster_id": cluster_id},
                )
            case "list-endpoints":
                _list_endpoints(admin, args)
            case "unregister":
                _unregister(admin, int(required(args, "id")))
    return 0


def check(args: Parsed) -> str:
    """The command asked for; `UsageError` for options that do not go together."""
    command = command_of(args, COMMANDS)
    check_belonging(args, BELONGS_TO, command, said=command)
    if command == "unregister":
        required(args, "id")
    if args.has("include-fenced-brokers") and args.has("bootstrap-controller"):
        raise UsageError("--include-fenced-brokers needs --bootstrap-server")
    return command


def _list_endpoints(admin: ClusterAdmin, args: Parsed) -> None:
    view = admin.view(include_fenced=args.has("include-fenced-brokers"))
    of_controllers = admin.brokers.of_controllers
    show(
        args,
        lines=lambda: endpoint_lines(view.endpoints, of_controllers=of_controllers),
        document=lambda: endpoint_json(view, of_controllers=of_controllers),
    )


def endpoint_lines(endpoints: Sequence[Endpoint], *, of_controllers: bool) -> list[str]:
    hosts = max(len(each.host) for each in endpoints)
    racks = max((len(each.rack) for each in endpoints if each.rack), default=NARROWEST_RACK)
    states = () if of_controllers else ("STATE",)
    kind = "controller" if of_controllers else "broker"

    def line(number: object, host: str, port: object, rack: str, *rest: str) -> str:
        *state, of_kind = rest
        shown = "".join(f"{each:<10} " for each in state)
        return f"{number!s:<10} {host:<{hosts}} {port!s:<10} {rack:<{racks}} {shown}{of_kind:<15}"

    return [
        line("ID", "HOST", "PORT", "RACK", *states, "ENDPOINT_TYPE"),
        *(
            line(
                each.node_id,
                each.host,
                each.port,
                each.rack or "null",
                *(() if of_controllers else ("fenced" if each.is_fenced else "unfenced",)),
                kind,
            )
            for each in endpoints
        ),
    ]


def endpoint_json(view: ClusterView, *, of_controllers: bool) -> list[dict[str, Any]]:
    return [
        {
            "id": each.node_id,
            "host": each.host,
            "port": each.port,
            "rack": each.rack,
            "fenced": None if of_controllers else each.is_fenced,
            "endpoint_type": "controller" if of_controllers else "broker",
        }
        for each in view.endpoints
    ]


def _unregister(admin: ClusterAdmin, broker_id: int) -> None:
    from barnabas.client.errors import NotOfferedError

    try:
        admin.unregister(broker_id)
    except NotOfferedError:
        raise CommandError(
            "The target cluster does not support the broker unregistration API."
        ) from None
    print_lines([f"Broker {broker_id} is no longer registered."])


COMMAND = Command(
    summary="Show the id and the endpoints of a cluster, or take a broker out of it.",
    examples=(
        "cluster-id",
        "list-endpoints --include-fenced-brokers",
        "list-endpoints --bootstrap-controller localhost:9095",
        "unregister --id 3",
    ),
    options=OPTIONS,
    run=run,
    words=(0, 1),
    word_values=COMMANDS,
    notes=(
        f"Commands: {', '.join(COMMANDS)}.",
        "unregister is for a broker that is gone for good: one that runs registers itself again.",
    ),
)
