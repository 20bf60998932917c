"""Directories get the id of their cluster before the first start."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from barnabas.cli.main import run_tool

ID = "4L6g3nShT-eMCtK--X86sw"
Captured = pytest.CaptureFixture[str]


def storage(*argv: str) -> int:
    return run_tool("kafka-storage", "barnabas.cli.storage", argv)


@pytest.fixture
def config(tmp_path: Path) -> str:
    """A broker with two directories."""
    file = tmp_path / "server.properties"
    file.write_text(f"node.id=7\nlog.dirs={tmp_path}/a,{tmp_path}/b\n")
    return str(file)


def meta(directory: Path) -> dict[str, str]:
    lines = (directory / "meta.properties").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line)


def test_a_random_id_is_one_that_kafka_takes(capsys: Captured) -> None:
    assert storage("random-uuid") == 0
    first = capsys.readouterr().out
    assert storage("random-uuid") == 0

    assert re.fullmatch(r"[\w-]{22}\n", first)
    assert capsys.readouterr().out != first


def test_each_directory_gets_the_id_of_the_cluster_and_one_of_its_own(
    config: str, tmp_path: Path, capsys: Captured
) -> None:
    assert storage("format", "--standalone", "-t", ID, "-c", config) == 0

    assert capsys.readouterr().out.splitlines() == [
        f"Formatting metadata directory {tmp_path}/a with metadata.version 4.0-IV3.",
        f"Formatting data directory {tmp_path}/b with metadata.version 4.0-IV3.",
    ]
    first, second = meta(tmp_path / "a"), meta(tmp_path / "b")
    assert (first["cluster.id"], first["node.id"], first["version"]) == (ID, "7", "1")
    assert second | {"directory.id": ""} == first | {"directory.id": ""}
    assert first["directory.id"] != second["directory.id"]


def test_what_is_formatted_is_not_formatted_again(
    config: str, tmp_path: Path, capsys: Captured
) -> None:
    storage("format", "-t", ID, "-c", config)
    before = meta(tmp_path / "a")
    capsys.readouterr()

    assert storage("format", "-t", ID, "-c", config) == 1
    assert "is already formatted. Use --ignore-formatted" in capsys.readouterr().err
    assert storage("format", "-t", ID, "-c", config, "--ignore-formatted") == 0
    assert capsys.readouterr().out == "All of the log directories are already formatted.\n"
    assert storage("format", "-t", "other", "-c", config, "--ignore-formatted") == 1
    assert f"belongs to cluster {ID}, not other" in capsys.readouterr().err
    assert meta(tmp_path / "a") == before


def test_info_tells_what_directories_say_and_fails_for_those_that_say_nothing(
    config: str, tmp_path: Path, capsys: Captured
) -> None:
    assert storage("info", "-c", config) == 1
    assert f"Found problems:\n  {tmp_path}/a is not formatted.\n" in capsys.readouterr().out

    storage("format", "-t", ID, "-c", config)
    capsys.readouterr()
    assert storage("info", "-c", config) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"Found log directories:\n  {tmp_path}/a\n  {tmp_path}/b\n\n")
    assert f"Found metadata: {{cluster.id={ID}, directory.id=" in said
    assert said.endswith(", node.id=7, version=1}\n\n")


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("", "a command is needed: info, format, random-uuid"),
        ("nonsense", '"nonsense" is not a command'),
        ("format", "--config is missing"),
        ("format --config f", "--cluster-id is missing"),
        ("info --config f -t x", "--cluster-id cannot be used with info"),
        ("info --config /no/such/file", "cannot read /no/such/file"),
    ],
)
def test_a_wrong_command_line_is_one_line(line: str, complaint: str, capsys: Captured) -> None:
    assert storage(*line.split()) == 1

    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert complaint in said.err


def test_a_bad_setting_and_a_bad_file_are_named(tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "server.properties"
    file.write_text(f"node.id=x\nlog.dirs={tmp_path}/a\n")
    assert storage("info", "-c", str(file)) == 1
    assert "node.id" in capsys.readouterr().err

    file.write_text(f"node.id=1\nlog.dirs={tmp_path}/a\n")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "meta.properties").write_text("node.id=many\n")
    assert storage("info", "-c", str(file)) == 1
    assert "meta.properties cannot be read" in capsys.readouterr().err
