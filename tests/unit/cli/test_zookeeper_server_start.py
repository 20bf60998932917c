from __future__ import annotations

import sys
from pathlib import Path

import pytest

from barnabas.cli import zookeeper_server_start as tool
from barnabas.cli.command import CommandError


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with a Java and the distribution's ZooKeeper."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(sys.executable)
    (tmp_path / "zookeeper.jar").touch()
    monkeypatch.setattr(tool, "DISTRIBUTION", tmp_path)
    return tmp_path


def test_the_distributions_zookeeper_is_started_with_the_file(home: Path) -> None:
    command = tool.java_command({"JAVA_HOME": str(home)}, "zk.properties")
    assert command[0] == str(home / "bin" / "java")
    assert command[-2:] == [tool.MAIN, "zk.properties"]
    assert str(home / "zookeeper.jar") in command[command.index("-cp") + 1]
    assert "-Xmx512M" in command


def test_heap_and_options_come_from_kafkas_variables(home: Path) -> None:
    environment = {
        "JAVA_HOME": str(home),
        "KAFKA_HEAP_OPTS": "-Xmx64M",
        "KAFKA_OPTS": '-Da=b -Dc="d e"',
    }
    command = tool.java_command(environment, "f")
    assert {"-Xmx64M", "-Da=b", "-Dc=d e"} <= set(command)
    assert "-Xmx512M" not in command


def test_a_zookeeper_of_ones_own_is_used_if_it_is_named(home: Path) -> None:
    (home / "lib").mkdir()
    (home / "lib" / "zookeeper-3.9.9.jar").touch()
    environment = {"JAVA_HOME": str(home), "ZOOKEEPER_HOME": str(home)}
    assert f"{home}/conf:{home}/lib/*" in tool.java_command(environment, "f")


def test_what_is_missing_is_named_and_how_to_get_it(home: Path) -> None:
    with pytest.raises(CommandError, match=r"no Java.*apt-get install"):
        tool.java_command({"JAVA_HOME": str(home / "none")}, "f")
    with pytest.raises(CommandError, match="ZOOKEEPER_HOME"):
        tool.java_command({"JAVA_HOME": str(home), "ZOOKEEPER_HOME": str(home / "none")}, "f")
    (home / "zookeeper.jar").unlink()
    with pytest.raises(CommandError, match=r"not installed.*apt-get install zookeeper"):
        tool.java_command({"JAVA_HOME": str(home)}, "f")
