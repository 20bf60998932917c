"""The Tab key in real shells: options, values, files, and the names that a broker knows."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from barnabas_process import BarnabasProcess
from confluent_kafka import Consumer
from terminal import Terminal

BIN = Path(sys.executable).parent
NOBODY = "127.0.0.1:1"
READY = "we-are-ready"
SHELLS = {
    "bash": (
        ["bash", "--norc", "--noprofile", "-i"],
        "bind 'set enable-bracketed-paste off'; source <(barnabas completion bash)",
    ),
    "zsh": (
        ["zsh", "-f", "-i"],
        "autoload -Uz compinit; compinit -u -D; source <(barnabas completion zsh)",
    ),
    "fish": (["fish", "--no-config", "-i"], "barnabas completion fish | source"),
}


@pytest.fixture(scope="module")
def names(broker: BarnabasProcess) -> tuple[str, str]:
    """A topic and a group that the broker knows."""
    topic, group = f"completed-{os.getpid()}-in-full", f"group:{os.getpid()} with a space"
    at = ["--bootstrap-server", broker.bootstrap]
    subprocess.run(
        [BIN / "kafka-topics", *at, "--create", "--topic", topic],
        check=True,
        capture_output=True,
        timeout=60,
    )
    member = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": group})
    member.subscribe([topic])
    while not member.assignment():
        member.poll(0.1)
    member.close()
    return topic, group


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Terminal]:
    """A shell at its prompt, with the completion loaded, in an empty directory."""
    command, setup = SHELLS[request.param]
    env = {
        "PATH": f"{BIN}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "XDG_CONFIG_HOME": str(tmp_path),
        "XDG_DATA_HOME": str(tmp_path),
        "PS1": "$ ",
    }
    terminal = Terminal([*command], columns=250, rows=50, env=env, folder=tmp_path)
    try:
        terminal.type(f"{setup}; echo {READY[:5]}''{READY[5:]}\n".encode())
        terminal.read_until(READY.encode())
        yield terminal
    finally:
        terminal.close()


@pytest.mark.parametrize(
    "line",
    [
        "kafka-topics.sh --desc\t --bootstrap-server {} --topic completed-\t",
        "barnabas topics --describe --bootstrap-server={} --topic=completed-\t",
    ],
    ids=["a word", "an equals sign"],
)
def test_a_topic_is_completed_from_the_broker_and_the_line_runs(
    line: str, shell: Terminal, broker: BarnabasProcess, names: tuple[str, str]
) -> None:
    topic, _ = names

    shell.type(line.format(broker.bootstrap).encode())
    shell.read_until(b"-in-full")
    shell.type(b"\n")

    shell.read_until(f"Topic: {topic}".encode())
    shell.read_until(b"PartitionCount: 1")


def test_a_group_with_odd_characters_is_quoted(
    shell: Terminal, broker: BarnabasProcess, names: tuple[str, str]
) -> None:
    shell.type(f"kafka-consumer-groups --bootstrap-server {broker.bootstrap} ".encode())
    shell.type(b"--describe --state --group group:\t")
    shell.read_until(b"space")
    shell.type(b"\n")

    shell.read_until(b"COORDINATOR (ID)")


def test_commands_and_those_within_are_completed(shell: Terminal) -> None:
    shell.type(b"barnabas gro\t")
    shell.read_until(b"groups")
    shell.type(b"la\t --hel\t\n")

    shell.read_until(b"Show how far consumer groups are behind")


def test_names_of_files_are_left_to_the_shell(shell: Terminal, tmp_path: Path) -> None:
    (tmp_path / "client-of-mine.properties").write_text("security.protocol=PLAINTEXT\n")

    shell.type(f"kafka-topics --list --bootstrap-server {NOBODY} --command-config cli\t".encode())
    shell.read_until(b"ent-of-mine.properties")
    shell.type(b"\n")

    shell.read_until(b"broker not reachable at " + NOBODY.encode())


def test_without_a_broker_nothing_is_offered_and_nothing_said(
    shell: Terminal, names: tuple[str, str]
) -> None:
    shell.type(f"kafka-topics --bootstrap-server {NOBODY} --list --topic completed-".encode())
    shell.type(b"\t-and-so-on; echo do''ne\n")

    shell.read_until(b"-and-so-on")
    shell.read_until(b"done")
    assert shell.transcript.count(b"not reachable") == 1, "by the command alone"
    assert b"-in-full" not in shell.transcript


def candidates(line: str) -> list[str]:
    done = subprocess.run(
        [BIN / "barnabas", "completion", "--candidates", line],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_the_scripts_are_told_what_they_ask(
    broker: BarnabasProcess, names: tuple[str, str], tmp_path: Path
) -> None:
    topic, group = names
    config = tmp_path / "client.properties"
    config.write_text(f"bootstrap.servers={broker.bootstrap}\n")
    at = f"--bootstrap-server {broker.bootstrap}"

    assert topic in candidates(f"kafka-console-consumer {at} --topic ")
    assert not [name for name in candidates(f"kafka-topics {at} --topic ") if "__" in name]
    assert "__consumer_offsets" in candidates(f"kafka-topics {at} --topic __")
    assert group in candidates(f"barnabas groups lag {at} --group ")
    assert topic in candidates(f"barnabas topics tail {at} ")
    assert topic in candidates(f"kafka-topics --command-config {config} --topic ")
    assert candidates("kafka-topics --command-config /no/such/file --topic ") == []
    assert candidates(f"kafka-topics --bootstrap-server {NOBODY} --topic ") == []
    assert candidates("kafka-topics --bootstrap-server nonsense:port --topic ") == []
    assert "--describe" in candidates("kafka-topics --de")


def test_scenarios_of_the_lab_are_completed(shell: Terminal) -> None:
    shell.type(b"barnabas lab show uncl\t")
    shell.read_until(b"ean-election")
    shell.type(b"-f\t\n")

    shell.read_until(b"No unclean election: offline")
    assert candidates("barnabas lab run 4.2") == ["4.2", "4.2-fix"]


def test_a_shell_that_is_not_known_is_refused() -> None:
    for words, said in (["tcsh"], '"tcsh" is not a shell known here'), ([], "which shell?"):
        done = subprocess.run(
            [BIN / "barnabas", "completion", *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == f"barnabas completion: {said}: bash, zsh, fish\n"
