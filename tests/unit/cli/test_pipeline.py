"""Options of pipelines are what their definitions declare; what is found is told in lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.cli.options import UsageError, parse
from barnabas.cli.pipeline import options_of, properties_of, read_definition
from barnabas.cli.pipeline_generate import start_ms
from barnabas.cli.pipeline_reconcile import report_lines
from barnabas.pipelines.definition import Archive, Reconcile
from barnabas.pipelines.reconcile_report import Count, Finding, Report


def archive(*argv: str) -> Archive:
    return read_definition(parse(options_of(Archive), argv), Archive)


def test_options_make_a_definition() -> None:
    assert archive("--topic", "a,b", "--topic", "c", "--to", "lake", "--once") == Archive(
        topic=("a", "b", "c"), to="lake", once=True
    )


def test_a_file_and_options_make_one_together(tmp_path: Path) -> None:
    file = tmp_path / "archive.toml"
    file.write_text('topic = "a"\nto = "filed"\nmaster = "spark://host:7077"\n')

    assert archive("--file", str(file), "--to", "typed") == Archive(
        topic=("a",), to="typed", master="spark://host:7077"
    )


def test_a_mistake_is_one_of_the_command_line() -> None:
    with pytest.raises(UsageError, match="--to is missing"):
        archive("--topic", "a")


def test_properties_come_from_a_file_and_from_options(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("security.protocol=SASL_PLAINTEXT\nbootstrap.servers=filed:1\n")
    given = ("--topic", "a", "--to", "lake", "--command-config", str(file))

    assert properties_of(archive(*given, "--command-property", "sasl.mechanism=PLAIN")) == {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "bootstrap.servers": "filed:1",
    }
    assert properties_of(archive(*given, "--bootstrap-server", "typed:2"))["bootstrap.servers"] == (
        "typed:2"
    )
    assert properties_of(archive("--topic", "a", "--to", "lake")) == {
        "bootstrap.servers": "localhost:9092"
    }


def test_files_of_logs_are_named_without_a_broker() -> None:
    args = parse(options_of(Reconcile), ["--sent", "a.log", "--received", "b.log,topic:t"])

    assert read_definition(args, Reconcile).received == ("b.log", "topic:t")


def test_a_report_is_a_table_and_what_differs() -> None:
    report = Report(
        counts=(
            Count(topic="t", partition=0, sent=10, received=9, lost=3, duplicated=2),
            Count(topic="t", partition=1, sent=5, received=5, reordered=1),
        ),
        findings=(
            Finding(
                kind="lost",
                topic="t",
                partition=0,
                key="7",
                times=1,
                sent_in="sent.log",
                sent_at=8,
                received_in=None,
                received_at=None,
            ),
            Finding(
                kind="duplicated",
                topic="t",
                partition=0,
                key="",
                times=2,
                sent_in="sent.log",
                sent_at=1,
                received_in="topic:t",
                received_at=4,
            ),
        ),
    )

    assert not report.is_clean
    assert [line.split() for line in report_lines(report)[:4]] == [
        ["topic", "partition", "sent", "received", "lost", "duplicated", "foreign", "reordered"],
        ["t", "0", "10", "9", "3", "2", "0", "0"],
        ["t", "1", "5", "5", "0", "0", "0", "1"],
        ["all", "15", "14", "3", "2", "0", "1"],
    ]
    assert report_lines(report)[4:] == [
        "",
        "lost: 3",
        "  t-0 7: sent sent.log:8",
        "  ...",
        "",
        "duplicated: 2",
        "  t-0 (no key), 2 times: sent sent.log:1, received topic:t:4",
    ]


def test_a_report_without_differences_is_clean() -> None:
    assert Report(counts=(Count(topic="t", partition=0, sent=1, received=1),), findings=()).is_clean


def test_a_start_is_a_time_or_now() -> None:
    assert start_ms("now", 12.5) == 12_500
    assert start_ms("1970-01-01T00:00:01Z", 0) == 1000
    assert start_ms("1970-01-01 01:00:01+01:00", 0) == 1000
    assert start_ms("1970-01-01", 0) == 0
    with pytest.raises(UsageError, match="neither now nor like"):
        start_ms("soon", 0)
