"""Our tool for settings prints what Apache Kafka's prints of the same broker.

Each of the two changes things of its own that are otherwise the same.  What differs on purpose is
undone before comparing: our errors are one line on stderr, what does not exist is a failure, and
rows that are in the order of one of Java's hash tables are sorted.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from harness import transcript as tools
from harness.brokers import Broker
from harness.clients import JavaClient
from harness.jvm import Jvm
from harness.side_by_side import Outcome, ours, theirs

MINE, JAVA = "mine", "java"


class Pair:
    """Both tools on one broker; `{n}` in a line stands for a name of each tool's own."""

    def __init__(self, jvm: Jvm, broker: Broker, name: str) -> None:
        self.jvm = jvm
        self.broker = broker
        self._name = name
        self._client = JavaClient(jvm, broker)

    def names(self) -> list[str]:
        return [f"{self._name}-{end}" for end in (MINE, JAVA)]

    def make_topics(self) -> None:
        for name in self.names():
            self._client.create_topic(name, partitions=2, retention_ms="60000")

    def both(self, line: str) -> tuple[Outcome, Outcome]:
        mine, java = (line.replace("{n}", name) for name in self.names())
        found = (
            ours(tools.CONFIGS, self.broker, mine),
            theirs(self.jvm, tools.CONFIGS, self.broker, java),
        )
        if "--alter" in line:
            self._client.settle()
        return found

    def same(self, *lines: str) -> None:
        """Each line is said to both, one after the other; they print the same, and succeed."""
        different = []
        for line in lines:
            mine, java = (self._comparable(each) for each in self.both(line))
            if mine != java or mine[0] != 0:
                different.append((line, mine, java))
        assert different == []

    def _comparable(self, outcome: Outcome) -> tuple[int, list[str]]:
        text = outcome.out
        for name in self.names():
            text = text.replace(name, "NAME")
        text = re.sub(r"(?m)^(SCRAM .* are )(.*)$", _in_order, text)
        return outcome.status, sorted(text.splitlines())


def _in_order(found: re.Match[str]) -> str:
    return found[1] + ", ".join(sorted(found[2].split(", ")))


@pytest.fixture
def pair(jvm: Jvm, target: Broker, topic: str) -> Pair:
    return Pair(jvm, target, topic[-24:])


@pytest.fixture
def on_apache(jvm: Jvm, apache: Broker, topic: str) -> Pair:
    """For what only Apache Kafka's broker offers yet."""
    return Pair(jvm, apache, topic[-24:])


def test_settings_of_topics_are_changed_and_shown_alike(pair: Pair, tmp_path: Path) -> None:
    pair.make_topics()
    file = tmp_path / "topic.properties"
    file.write_text("# settings\nretention.ms = 7000\nsegment.bytes=\\\n  1048576\n")
    pair.same(
        "--describe --topic {n}",
        "--describe --topic {n} --all",
        "--alter --topic {n} --add-config retention.ms=2000,cleanup.policy=[compact,delete]",
        "--alter --entity-type topics --entity-name {n} --add-config retention.bytes=5",
        "--describe --entity-type topics --entity-name {n}",
        "--describe --entity-name {n} --entity-type topics --all",
        "--alter --topic {n} --delete-config retention.ms,retention.bytes",
        "--alter --topic {n} --delete-config no.such.setting",
        f"--alter --topic {{n}} --add-config-file {file} --delete-config cleanup.policy",
        "--alter --topic {n} --add-config retention.ms=1 --all",
        "--describe --topic {n}",
    )


def test_settings_of_brokers_are_changed_and_shown_alike(pair: Pair) -> None:
    pair.same(
        "--describe --broker 1",
        "--describe --broker 1 --all",
        "--alter --broker 1 --add-config log.cleaner.threads=2",
        "--alter --broker-defaults --add-config log.cleaner.threads=3,log.retention.ms=86400000",
        "--describe --entity-type brokers",
        "--describe --broker 1",
        "--describe --broker-defaults",
        "--describe --entity-type brokers --entity-default --all",
        "--alter --entity-type brokers --entity-name 1 --delete-config log.cleaner.threads",
        "--alter --broker-defaults --delete-config log.cleaner.threads,log.retention.ms",
        "--describe --entity-type brokers",
    )


def test_settings_of_groups_are_changed_and_shown_alike(pair: Pair) -> None:
    pair.same(
        "--alter --group {n} --add-config consumer.session.timeout.ms=50000",
        "--describe --group {n}",
        "--describe --group {n} --all",
        "--alter --entity-type groups --entity-name {n} "
        "--delete-config consumer.session.timeout.ms",
    )


def test_groups_that_only_have_settings_are_listed_alike(on_apache: Pair) -> None:
    on_apache.same(
        "--alter --group {n} --add-config consumer.heartbeat.interval.ms=6000",
        "--describe --entity-type groups",
        "--alter --group {n} --delete-config consumer.heartbeat.interval.ms",
    )


def test_loggers_are_shown_and_changed_alike(pair: Pair) -> None:
    shown = ours(tools.CONFIGS, pair.broker, "--describe --broker-logger 1")
    loggers = re.findall(r"(?m)^  (\S+)=INFO ", shown.out)
    pair.same(
        "--describe --broker-logger 1",
        f"--alter --broker-logger 1 --add-config {loggers[0]}=DEBUG",
        "--describe --entity-type broker-loggers --entity-name 1",
        f"--alter --broker-logger 1 --delete-config {loggers[0]}",
    )


def test_metrics_subscriptions_are_changed_and_shown_alike(on_apache: Pair) -> None:
    on_apache.same(
        "--alter --client-metrics {n} --add-config interval.ms=1000,metrics=[a,b]",
        "--describe --client-metrics {n}",
        "--describe --client-metrics {n} --all",
        "--describe --entity-type client-metrics",
        "--alter --client-metrics {n} --delete-config interval.ms,metrics",
    )


def test_quotas_are_changed_and_shown_alike(pair: Pair) -> None:
    """Those of everybody are large, and go in the end: other tests use the same broker."""
    pair.same(
        "--alter --user {n} --add-config producer_byte_rate=1024,consumer_byte_rate=104857600",
        "--describe --user {n}",
        "--alter --user {n} --client {n} --add-config request_percentage=50.25",
        "--describe --user {n} --client {n}",
        "--alter --entity-type users --entity-name {n} --entity-type clients --entity-default "
        "--add-config request_percentage=60",
        "--describe --entity-type users --entity-name {n} --entity-type clients",
        "--alter --entity-type users --entity-default --entity-type clients --entity-name {n} "
        "--add-config controller_mutation_rate=70",
        "--describe --entity-type users --entity-type clients",
        "--alter --user-defaults --add-config producer_byte_rate=700000000",
        "--alter --client-defaults --add-config producer_byte_rate=8e9",
        "--alter --client {n} --add-config producer_byte_rate=9",
        "--describe --user-defaults",
        "--describe --entity-type clients",
        "--alter --ip 10.0.0.1 --add-config connection_creation_rate=5",
        "--alter --ip-defaults --add-config connection_creation_rate=60000",
        "--describe --entity-type ips",
        "--describe --ip 10.0.0.1",
        "--alter --user {n} --delete-config producer_byte_rate,consumer_byte_rate",
        "--describe --user {n}",
        "--alter --user-defaults --add-config consumer_byte_rate=500000000",
    )
    for line in (
        "--alter --user-defaults --delete-config producer_byte_rate,consumer_byte_rate",
        "--alter --client-defaults --delete-config producer_byte_rate",
        "--alter --ip 10.0.0.1 --delete-config connection_creation_rate",
        "--alter --ip-defaults --delete-config connection_creation_rate",
    ):
        assert ours(tools.CONFIGS, pair.broker, line).status == 0
    pair.same("--describe --entity-type ips", "--describe --user-defaults")


def test_credentials_are_changed_and_shown_alike(pair: Pair) -> None:
    pair.same(
        "--alter --user {n} --add-config SCRAM-SHA-256=[iterations=8192,password=secret]",
        "--alter --entity-type users --entity-name {n} --add-config SCRAM-SHA-512=[password=other]",
        "--describe --user {n}",
        "--describe --entity-type users",
        "--alter --user {n} --delete-config SCRAM-SHA-256",
        "--describe --user {n}",
    )


def test_both_credentials_at_once_are_set_by_ours_alone(pair: Pair) -> None:
    line = "--alter --user {n} --add-config SCRAM-SHA-256=[password=x],SCRAM-SHA-512=[password=x]"
    mine, java = pair.both(line)
    assert (mine.status, java.status) == (0, 1)
    shown = ours(tools.CONFIGS, pair.broker, f"--describe --user {pair.names()[0]}").out.strip()
    assert shown.endswith("are SCRAM-SHA-256=iterations=4096, SCRAM-SHA-512=iterations=4096")


@pytest.mark.parametrize(
    "line",
    [
        "--describe --topic none",
        "--describe --broker 7",
        "--describe --broker-logger 7",
    ],
)
def test_where_they_print_that_it_does_not_exist_we_fail(pair: Pair, line: str) -> None:
    mine, java = pair.both(line)
    assert (mine.status, mine.out, mine.err) == (1, "", java.out)
    assert "doesn't exist and doesn't have dynamic config." in java.out


@pytest.mark.parametrize(
    "line",
    [
        "--alter --topic {n} --add-config no.such.setting=1",
        "--alter --topic none --add-config retention.ms=1",
        "--alter --broker 1 --add-config log.dirs=/x",
        "--alter --group {n} --add-config no.such.setting=1",
        "--alter --user {n} --add-config producer_byte_rate=-1",
        "--alter --user {n} --add-config consumer_byte_rate=0.5",
        "--alter --client-defaults --add-config request_percentage=0",
        "--alter --ip 10.0.0.1 --add-config connection_creation_rate=3000000000",
        "--alter --user {n} --delete-config SCRAM-SHA-256",
    ],
)
def test_what_the_broker_refuses_is_told_in_its_words(pair: Pair, line: str) -> None:
    pair.make_topics()
    mine, java = pair.both(line)
    reason = re.search(r"(?m)^Caused by: [\w.]+: (.*)$", java.err)
    assert reason is not None, java
    assert (mine.status, mine.out) == (1, "")
    assert mine.err == f"Error while executing config command: {reason[1]}\n"


@pytest.mark.parametrize(
    "line",
    [
        "",
        "--describe",
        "--describe --alter --topic t",
        "--describe --topic t --add-config a=1",
        "--describe --entity-type nonsense",
        "--describe --entity-type topics --entity-type brokers",
        "--describe --entity-type topics --entity-type topics",
        "--describe --topic t --entity-type topics",
        "--describe --user u --entity-type clients",
        "--describe --entity-type users --entity-type ips",
        "--describe --entity-type topics --entity-default",
        "--describe --entity-type broker-loggers",
        "--describe --broker x",
        "--describe --ip no.such.host.invalid",
        "--alter --topic t",
        "--alter --entity-type topics --add-config retention.ms=1",
        "--alter --entity-type topics --entity-default --add-config retention.ms=1",
        "--alter --entity-type topics --entity-name t --entity-name u --add-config a=1",
        "--alter --topic t --add-config retention.ms",
        "--alter --topic t --add-config a=b=c",
        "--alter --topic t --add-config retention.ms=soon",
        "--alter --topic t --add-config-file /none/such",
        "--alter --topic t --add-config a=1 --add-config-file /none/such",
        "--alter --topic t --add-config retention.ms=1 --delete-config retention.ms",
        "--alter --broker-logger 1 --add-config no.such.logger=DEBUG",
        "--alter --user u --add-config nope=1",
        "--alter --user u --delete-config nope",
        "--alter --client c --add-config SCRAM-SHA-256=[password=x]",
        "--alter --ip 10.0.0.1 --add-config producer_byte_rate=1",
        "--alter --user u --add-config producer_byte_rate=many",
        "--alter --user u --add-config SCRAM-SHA-256=[password=x],producer_byte_rate=4",
        "--alter --user-defaults --add-config SCRAM-SHA-256=[password=x]",
        "--alter --user u --add-config SCRAM-SHA-256=[iterations=10,password=x]",
        "--alter --user u --add-config SCRAM-SHA-256=x",
        "--alter --user u --delete-config request_percentage",
        "--nonsense",
    ],
)
def test_what_they_refuse_we_refuse(pair: Pair, line: str) -> None:
    mine, java = pair.both(line)
    assert (mine.status, java.status) == (1, 1)
    assert (mine.out, mine.err.count("\n")) == ("", 1)


def test_what_a_broker_does_not_offer_is_one_clear_line(barnabas: Broker) -> None:
    mine = ours(tools.CONFIGS, barnabas, "--describe --entity-type client-metrics")
    assert (mine.status, mine.out) == (1, "")
    assert re.fullmatch(
        "Error while executing config command: "
        rf"the broker at {barnabas.bootstrap} does not offer List\w+\.\n",
        mine.err,
    )
