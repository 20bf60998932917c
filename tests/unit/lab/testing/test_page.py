"""The page on testing speaks of what is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from barnabas.lab import pytest_plugin
from barnabas.lab.faults import conditions
from barnabas.lab.faults.faults import Faults

PAGE = (Path(__file__).parents[4] / "docs" / "lab" / "testing.md").read_text(encoding="utf-8")


def test_its_examples_are_python() -> None:
    examples = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)

    assert len(examples) >= 4
    for example in examples:
        ast.parse(example)


def test_every_fixture_is_on_the_page_and_nothing_else() -> None:
    listed = set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))
    there = {
        name
        for name, value in vars(pytest_plugin).items()
        if type(value).__name__ == "FixtureFunctionDefinition"
    }

    assert listed == there - {"kafka_broker"}


def test_every_fault_and_condition_is_on_the_page_and_nothing_else() -> None:
    listed = set(re.findall(r"\bfaults\.(\w+)\(", PAGE))
    methods = {name for name, value in vars(Faults).items() if callable(value)}

    assert listed | {"lift_all"} == {name for name in methods if not name.startswith("_")}
    for name in ("sent", "acked", "refused", "replicated", "committed", "requests"):
        assert f"`{name}`" in PAGE
        assert callable(getattr(conditions, name))
