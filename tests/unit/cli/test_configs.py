"""`kafka-configs`: whose settings are meant, what becomes of them, and what is said of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fake_brokers import FakeCluster, install

from barnabas.cli.configs import COMMAND, check_quotas
from barnabas.cli.configs_options import Asked, Entity, check, parse_settings
from barnabas.cli.main import run_tool
from barnabas.cli.options import UsageError, parse
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages import (
    alter_client_quotas,
    alter_user_scram_credentials,
    describe_client_quotas,
    describe_configs,
    describe_user_scram_credentials,
    incremental_alter_configs,
)

Captured = pytest.CaptureFixture[str]
FAILED = "Error while executing config command:"


def asked(line: str) -> Asked:
    found = check(parse(COMMAND.options, line.split(), words=COMMAND.words))
    if found.is_of_quotas and found.is_alter:
        check_quotas(found)
    return found


@pytest.mark.parametrize(
    ("line", "entities"),
    [
        ("--topic t", [("topics", "t")]),
        ("--entity-type topics --entity-name t", [("topics", "t")]),
        ("--entity-name t --entity-type topics", [("topics", "t")]),
        ("--entity-type topics", [("topics", None)]),
        ("--broker 1", [("brokers", "1")]),
        ("--broker-defaults", [("brokers", "")]),
        ("--entity-type brokers --entity-default", [("brokers", "")]),
        ("--broker-logger 1", [("broker-loggers", "1")]),
        ("--group g", [("groups", "g")]),
        ("--client-metrics m", [("client-metrics", "m")]),
        ("--ip 10.0.0.1", [("ips", "10.0.0.1")]),
        ("--user u --client c", [("clients", "c"), ("users", "u")]),
        ("--user u --client-defaults", [("users", "u"), ("clients", "")]),
        (
            "--entity-type users --entity-default --entity-type clients --entity-name c",
            [("users", ""), ("clients", "c")],
        ),
        (
            "--entity-type clients --entity-name c --entity-type users",
            [("clients", "c"), ("users", None)],
        ),
    ],
)
def test_entities_are_named_by_place_or_by_short_options(
    line: str, entities: list[tuple[str, str | None]]
) -> None:
    found = asked(f"--describe {line}").entities
    assert [(each.type, each.name) for each in found] == entities


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("a=b", {"a": "b"}),
        ("a=b,c=[d,e],f=", {"a": "b", "c": "d,e", "f": ""}),
        ("cleanup.policy=[compact,delete]", {"cleanup.policy": "compact,delete"}),
        (
            "SCRAM-SHA-256=[iterations=8192,password=x]",
            {"SCRAM-SHA-256": "iterations=8192,password=x"},
        ),
        (" a = b , c = d ", {"a": "b", "c": "d"}),
    ],
)
def test_brackets_hold_a_value_together(text: str, settings: dict[str, str]) -> None:
    assert parse_settings(text) == settings


@pytest.mark.parametrize("text", ["", "a", "a=b,", "a=b=c", "=b", "a=b,c"])
def test_what_is_no_setting_is_named(text: str) -> None:
    with pytest.raises(UsageError, match=r"--add-config: .* is not of the form key=value"):
        parse_settings(text)


def test_settings_come_from_a_file_too(tmp_path: Path) -> None:
    file = tmp_path / "t.properties"
    file.write_text("# one\na = 1\nb=[x,y]\n")
    found = asked(
        f"--alter --topic t --add-config-file {file} --delete-config c,d --delete-config e"
    )
    assert (found.put, found.remove) == ({"a": "1", "b": "[x,y]"}, ["c", "d", "e"])


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("", "exactly one action is needed"),
        ("--describe --alter --topic t", "exactly one action is needed"),
        ("--describe", "--entity-type is missing"),
        ("--describe --entity-type planets", "planets"),
        ("--describe --topic t --add-config a=1", "--add-config cannot be used with --describe"),
        ("--alter --topic t --add-config a=1 --json", "--json cannot be used with --alter"),
        ("--describe --entity-type topics --entity-type topics", "given twice"),
        ("--describe --entity-type topics --entity-type brokers", "topics and brokers cannot be"),
        ("--describe --topic t --entity-type topics", "short options"),
        ("--describe --topic t --group g", "topics and groups cannot be used together"),
        ("--describe --topic=", "a name must not be empty"),
        ("--describe --entity-type topics --entity-default", "--entity-default cannot be used"),
        ("--describe --entity-name t", "need an --entity-type each"),
        ("--describe --entity-type topics --entity-name t --entity-name u", "--entity-type each"),
        ("--describe --broker x", "must be a valid integer broker id, but it is: x"),
        ("--describe --entity-type broker-loggers", "a broker must be named"),
        ("--describe --ip no.such.host.invalid", "must be a valid IP or resolvable host"),
        ("--alter --topic t", "--alter needs one of"),
        ("--alter --entity-type topics --add-config a=1", "--alter needs --entity-name"),
        ("--alter --topic t --delete-config ,", "--delete-config needs a value"),
        ("--alter --topic t --add-config a=1 --delete-config a", "a is both"),
        ("--alter --topic t --add-config a=1 --add-config-file f", "cannot be used together"),
        ("--alter --topic t --add-config-file /none/such", "--add-config-file: cannot read"),
        ("--alter --user u --add-config nope=1", "nope cannot be set for users: allowed are"),
        ("--alter --client c --add-config SCRAM-SHA-256=[password=x]", "SCRAM-SHA-256 cannot be"),
        ("--alter --user u --client c --add-config SCRAM-SHA-256=[password=x]", "cannot be set"),
        ("--alter --ip 10.0.0.1 --add-config producer_byte_rate=1", "cannot be set for ips"),
        ("--alter --user u --add-config producer_byte_rate=x", "for producer_byte_rate: x"),
        ("--alter --user-defaults --add-config SCRAM-SHA-256=[password=x]", "of one user"),
        ("--alter --user u --add-config SCRAM-SHA-256=x", "SCRAM-SHA-256 is set by"),
        ("--alter --user u --add-config SCRAM-SHA-256=[password=]", "is empty"),
        (
            "--alter --user u --add-config SCRAM-SHA-256=[iterations=9,password=x]",
            "Iterations 9 is less than the minimum 4096",
        ),
        (
            "--alter --user u --add-config SCRAM-SHA-256=[password=x],producer_byte_rate=4",
            "use two commands",
        ),
    ],
)
def test_what_cannot_be_meant_is_said_before_a_broker_is_asked(line: str, complaint: str) -> None:
    with pytest.raises(UsageError) as caught:
        asked(line)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_types_without_their_last_letter_are_how_lines_call_one() -> None:
    assert Entity(type="client-metrics", name="m").singular == "client-metric"


# Through to brokers.


def run(line: str) -> int:
    words = f"--bootstrap-server h:1 {line}".split()
    return run_tool("kafka-configs", "barnabas.cli.configs", words)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    made = install(monkeypatch)
    made.respond[describe_configs.DescribeConfigsRequest] = described
    made.respond[incremental_alter_configs.IncrementalAlterConfigsRequest] = (
        lambda broker, request: incremental_alter_configs.IncrementalAlterConfigsResponse(
            responses=[incremental_alter_configs.AlterConfigsResourceResponse(error_message=None)]
        )
    )
    return made


SOURCES = {2: 1, 4: 2, 8: 6, 32: 8}
"""Of a value that was set, by type of resource."""


def described(broker: int, request: Any) -> describe_configs.DescribeConfigsResponse:
    (resource,) = request.resources
    synonym = describe_configs.DescribeConfigsSynonym
    setting = describe_configs.DescribeConfigsResourceResult
    source = SOURCES[resource.resource_type]
    if resource.resource_type == 4 and not resource.resource_name:
        source = 3
    default = synonym(name="log.x", value="0", source=5)
    configs = [
        setting(
            name="x",
            value="1",
            config_source=source,
            synonyms=[synonym(name="x", value="1", source=source), default],
        ),
        setting(name="secret", value=None, is_sensitive=True, config_source=5),
    ]
    if resource.resource_name == "g":
        configs = configs[1:]
    result = describe_configs.DescribeConfigsResult(error_message=None, configs=configs)
    return describe_configs.DescribeConfigsResponse(results=[result])


TOPIC_X = "  x=1 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:x=1, DEFAULT_CONFIG:log.x=0}\n"


def test_what_was_set_is_shown_with_where_it_comes_from(
    cluster: FakeCluster, capsys: Captured
) -> None:
    assert run("--describe --topic t") == 0
    assert capsys.readouterr() == (f"Dynamic configs for topic t are:\n{TOPIC_X}", "")


def test_all_is_shown_on_request_but_secrets_are_not(
    cluster: FakeCluster, capsys: Captured
) -> None:
    assert run("--describe --entity-type topics --all") == 0
    assert capsys.readouterr().out == (
        f"All configs for topic t are:\n  secret=null sensitive=true synonyms={{}}\n{TOPIC_X}"
    )


def test_brokers_are_shown_each_and_together(cluster: FakeCluster, capsys: Captured) -> None:
    assert run("--describe --entity-type brokers") == 0
    each = "  x=1 sensitive=false synonyms={DYNAMIC_BROKER_CONFIG:x=1, DEFAULT_CONFIG:log.x=0}\n"
    assert capsys.readouterr().out == (
        f"Dynamic configs for broker 1 are:\n{each}Dynamic configs for broker 2 are:\n{each}"
        "Default configs for brokers in the cluster are:\n"
        "  x=1 sensitive=false "
        "synonyms={DYNAMIC_DEFAULT_BROKER_CONFIG:x=1, DEFAULT_CONFIG:log.x=0}\n"
    )


def test_json_has_the_same(cluster: FakeCluster, capsys: Captured) -> None:
    assert run("--describe --broker-defaults --json") == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["entity_type"], row["entity_name"]) == ("brokers", None)
    assert row["configs"] == [
        {
            "name": "x",
            "value": "1",
            "source": "DYNAMIC_DEFAULT_BROKER_CONFIG",
            "sensitive": False,
            "read_only": False,
            "synonyms": [
                {"name": "x", "value": "1", "source": "DYNAMIC_DEFAULT_BROKER_CONFIG"},
                {"name": "log.x", "value": "0", "source": "DEFAULT_CONFIG"},
            ],
        }
    ]


@pytest.mark.parametrize("line", ["--topic none", "--broker 7", "--broker-logger 7"])
def test_what_does_not_exist_is_said_and_fails(
    cluster: FakeCluster, capsys: Captured, line: str
) -> None:
    assert run(f"--describe {line}") == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.endswith("doesn't exist and doesn't have dynamic config.\n")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--topic t --add-config a=1", "Completed updating config for topic t."),
        ("--broker 2 --delete-config a", "Completed updating config for broker 2."),
        (
            "--broker-defaults --add-config a=1",
            "Completed updating default config for brokers in the cluster.",
        ),
        (
            "--broker-logger 1 --add-config x=DEBUG",
            "Completed updating config for broker-logger 1.",
        ),
        ("--group g --add-config a=1", "Completed updating config for group g."),
    ],
)
def test_a_change_is_confirmed(
    cluster: FakeCluster, capsys: Captured, line: str, said: str
) -> None:
    assert run(f"--alter {line}") == 0
    assert capsys.readouterr() == (f"{said}\n", "")
    assert len(cluster.sent(incremental_alter_configs.IncrementalAlterConfigsRequest)) == 1


def test_a_logger_that_there_is_not_is_not_changed(cluster: FakeCluster, capsys: Captured) -> None:
    assert run("--alter --broker-logger 1 --add-config x=INFO,nope=INFO") == 1
    assert capsys.readouterr().err == f"{FAILED} Invalid broker logger(s): nope\n"
    assert cluster.sent(incremental_alter_configs.IncrementalAlterConfigsRequest) == []


def quotas_of(broker: int, request: Any) -> describe_client_quotas.DescribeClientQuotasResponse:
    entity, value = describe_client_quotas.EntityData, describe_client_quotas.ValueData
    return describe_client_quotas.DescribeClientQuotasResponse(
        error_message=None,
        entries=[
            describe_client_quotas.EntryData(
                entity=[
                    entity(entity_type="client-id", entity_name=None),
                    entity(entity_type="user", entity_name="u"),
                ],
                values=[value(key="producer_byte_rate", value=10485760.0)],
            )
        ],
    )


def credentials_of(broker: int, request: Any) -> Any:
    info = describe_user_scram_credentials.CredentialInfo
    return describe_user_scram_credentials.DescribeUserScramCredentialsResponse(
        error_message=None,
        results=[
            describe_user_scram_credentials.DescribeUserScramCredentialsResult(
                user="u",
                error_message=None,
                credential_infos=[
                    info(mechanism=2, iterations=4096),
                    info(mechanism=1, iterations=8192),
                ],
            )
        ],
    )


def test_quotas_and_credentials_of_users_are_shown(cluster: FakeCluster, capsys: Captured) -> None:
    cluster.respond[describe_client_quotas.DescribeClientQuotasRequest] = quotas_of
    cluster.respond[describe_user_scram_credentials.DescribeUserScramCredentialsRequest] = (
        credentials_of
    )
    assert run("--describe --entity-type users") == 0
    assert capsys.readouterr().out == (
        "Quota configs for user-principal 'u', the default client-id are "
        "producer_byte_rate=1.048576E7\n"
        "SCRAM credential configs for user-principal 'u' are "
        "SCRAM-SHA-256=iterations=8192, SCRAM-SHA-512=iterations=4096\n"
    )
    assert run("--describe --user u --client-defaults --json") == 0
    assert json.loads(capsys.readouterr().out) == {
        "quotas": [
            {
                "entity": {"user": "u", "client-id": None},
                "values": {"producer_byte_rate": 10485760.0},
            }
        ],
        "scram_credentials": [],
    }


def test_only_quotas_that_are_set_are_deleted(cluster: FakeCluster, capsys: Captured) -> None:
    cluster.respond[describe_client_quotas.DescribeClientQuotasRequest] = quotas_of
    cluster.respond[alter_client_quotas.AlterClientQuotasRequest] = lambda broker, request: (
        alter_client_quotas.AlterClientQuotasResponse()
    )
    assert run("--alter --user u --delete-config request_percentage") == 1
    assert capsys.readouterr().err.endswith(": Invalid config(s): request_percentage\n")
    assert run("--alter --user u --delete-config producer_byte_rate") == 0
    assert capsys.readouterr().out == "Completed updating config for user u.\n"


def test_a_password_is_set(cluster: FakeCluster, capsys: Captured) -> None:
    cluster.respond[alter_user_scram_credentials.AlterUserScramCredentialsRequest] = (
        lambda broker, request: alter_user_scram_credentials.AlterUserScramCredentialsResponse()
    )
    assert run("--alter --user u --add-config SCRAM-SHA-512=[password=x]") == 0
    assert capsys.readouterr().out == "Completed updating config for user u.\n"
    ((_, request),) = cluster.sent(alter_user_scram_credentials.AlterUserScramCredentialsRequest)
    assert [(each.name, each.iterations) for each in request.upsertions] == [("u", 4096)]


def test_a_broker_that_does_not_offer_it_is_one_line(
    cluster: FakeCluster, capsys: Captured
) -> None:
    cluster.highest[ApiKey.DESCRIBE_CLIENT_QUOTAS] = -1
    assert run("--describe --user u") == 1
    said = capsys.readouterr()
    assert (said.out, said.err) == (
        "",
        f"{FAILED} the broker at h:1 does not offer DescribeClientQuotas.\n",
    )
