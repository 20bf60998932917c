from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.cli.console_producer import (
    COMMAND,
    producer_defaults,
    producer_properties,
    reader_format,
)
from barnabas.cli.options import Parsed, UsageError, parse


def words(*argv: str) -> Parsed:
    return parse(COMMAND.options, argv)


def test_options_become_properties_and_win_over_pairs() -> None:
    args = words(
        *("--batch-size", "1", "--timeout", "20", "--max-memory-bytes", "4096"),
        *("--request-required-acks", "1", "--compression-codec", "lz4"),
        *("--message-send-max-retries", "4", "--retry-backoff-ms", "5"),
        *("--request-timeout-ms", "6", "--max-block-ms", "7", "--metadata-expiry-ms", "8"),
        *("--socket-buffer-size", "9", "--producer-property", "linger.ms=99"),
        *("--producer-property", "client.id=me", "--broker-list", "h:1"),
    )

    assert producer_properties(args) == {
        "bootstrap.servers": "h:1",
        "client.id": "me",
        "linger.ms": "20",
        "batch.size": "1",
        "buffer.memory": "4096",
        "acks": "1",
        "compression.type": "lz4",
        "retries": "4",
        "retry.backoff.ms": "5",
        "request.timeout.ms": "6",
        "max.block.ms": "7",
        "metadata.max.age.ms": "8",
        "send.buffer.bytes": "9",
    }


def test_a_codec_without_a_name_is_gzip() -> None:
    args = words("--compression-codec", "--topic", "t")
    assert producer_properties(args)["compression.type"] == "gzip"


def test_a_config_file_is_read_under_both_names(tmp_path: Path) -> None:
    file = tmp_path / "p.properties"
    file.write_text("acks=0\n")

    for option in ("--producer.config", "--command-config"):
        assert producer_properties(words(option, str(file)))["acks"] == "0"
    with pytest.raises(UsageError, match="cannot be used together"):
        producer_properties(words("--producer.config", str(file), "--command-config", str(file)))


def test_the_older_and_the_newer_spelling_do_not_mix() -> None:
    with pytest.raises(UsageError, match="--producer-property and --command-property"):
        producer_properties(words("--producer-property", "a=b", "--command-property", "c=d"))
    with pytest.raises(UsageError, match="--property and --reader-property"):
        reader_format(words("--property", "a=b", "--reader-property", "c=d"))


def test_how_lines_are_read_comes_from_file_and_pairs(tmp_path: Path) -> None:
    file = tmp_path / "r.properties"
    file.write_text("parse.key=true\nkey.separator=;\n")
    made = reader_format(words("--reader-config", str(file), "--property", "key.separator=,"))

    assert (made.parse_key, made.key_separator) == (True, b",")


def test_only_the_line_reader_is_known() -> None:
    assert reader_format(
        words("--line-reader", "org.apache.kafka.tools.LineMessageReader")
    ).is_plain
    with pytest.raises(UsageError, match=r"--line-reader: com\.example\.Mine is a Java class"):
        reader_format(words("--line-reader", "com.example.Mine"))


def test_defaults_keep_the_order_of_lines_and_javas_partitioning() -> None:
    defaults = producer_defaults({})

    assert defaults["partitioner"] == "murmur2_random"
    assert defaults["max.in.flight.requests.per.connection"] == "1"
    assert defaults["acks"] == "all"


def test_defaults_make_room_for_long_waits() -> None:
    assert producer_defaults({"retry.backoff.ms": "5000"})["retry.backoff.max.ms"] == "5000"
    assert "retry.backoff.max.ms" not in producer_defaults({"retry.backoff.ms": "5"})
    assert producer_defaults({"linger.ms": "200000"})["delivery.timeout.ms"] == "230000"
