"""By which names tools are found."""

from __future__ import annotations

import tomllib
from pathlib import Path

from barnabas.cli.tools import TOOLS, of_class, of_script, of_words, scripts

ROOT = Path(__file__).parents[3]


def test_the_longest_name_wins() -> None:
    assert of_words(["topics", "tail", "orders"]) == ("topics tail", TOOLS["topics tail"])
    assert of_words(["topics", "--list"]) == ("topics", TOOLS["topics"])
    assert of_words(["groups"]) is None
    assert of_words([]) is None


def test_a_script_is_known_with_and_without_its_ending_and_by_its_older_names() -> None:
    for path in ("kafka-topics", "kafka-topics.sh", "/opt/kafka/bin/kafka-topics.sh"):
        assert of_script(path) == ("kafka-topics", TOOLS["topics"])
    found = of_script("kafka-replica-validation.sh")
    assert found is not None
    assert found[1] == TOOLS["replica-verification"]
    assert of_script("") is None
    assert of_script("kafka-nonsense") is None


def test_a_class_is_known_whatever_its_package() -> None:
    assert of_class("kafka.tools.GetOffsetShell") == TOOLS["get-offsets"]
    assert of_class("org.apache.kafka.tools.GetOffsetShell") == TOOLS["get-offsets"]
    assert of_class("kafka.tools.Nonsense") is None
    assert of_class("") is None


def test_every_script_is_installed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    assert set(scripts()) == set(project["scripts"]) - {"barnabas"}


def test_every_tool_has_a_name_and_a_module_of_its_own() -> None:
    modules = [tool.module for tool in TOOLS.values()]
    classes = [tool.java_class for tool in TOOLS.values() if tool.java_class]

    assert len(modules) == len(set(modules))
    assert len(classes) == len(set(classes))
    assert all(tool.summary.endswith(".") for tool in TOOLS.values())
