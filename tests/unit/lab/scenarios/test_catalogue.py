"""The scenarios that there are, and their pages in the docs."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from barnabas.lab.programs.options import ConsumerOptions, ProducerOptions
from barnabas.lab.scenarios.catalogue import all_scenarios, play_of
from barnabas.lab.scenarios.declaration import Scenario

ROOT = Path(__file__).parents[4]
PAGES = ROOT / "docs" / "lab"
SCENARIOS = list(all_scenarios().values())
EXERCISES = sorted({each.exercise for each in SCENARIOS})

every_scenario = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.name)


def test_every_exercise_is_there() -> None:
    wanted = "1.1 2.2a 2.2b 2.2b-fix 3.1 3.2a 3.2b 3.3a 3.3b 3.4 3.4-fix 4.1 4.1-fix 4.2 4.2-fix"

    assert set(wanted.split()) <= set(all_scenarios())


@every_scenario
def test_its_play_takes_a_stage(scenario: Scenario) -> None:
    assert list(inspect.signature(play_of(scenario)).parameters) == ["stage"]


@every_scenario
def test_its_options_are_those_of_the_programs(scenario: Scenario) -> None:
    ProducerOptions.of(scenario.producer)
    ConsumerOptions.of(scenario.consumer)


@every_scenario
def test_its_play_looks_for_every_sight_and_names_every_number(scenario: Scenario) -> None:
    module = inspect.getsource(inspect.getmodule(play_of(scenario)))  # type: ignore[arg-type]

    assert [name for name in scenario.params if f'param("{name}")' not in module] == []
    assert [name for name in scenario.expect.sights if f'"{name}"' not in module] == []


@every_scenario
def test_the_takeaway_is_two_or_three_sentences_and_what_comes_next_exists(
    scenario: Scenario,
) -> None:
    assert 2 <= len(re.findall(r"[.:?](?: |$)", scenario.takeaway)) <= 6
    assert set(scenario.next) <= set(all_scenarios())


@pytest.mark.parametrize("exercise", EXERCISES)
def test_an_exercise_has_a_page_that_can_be_followed(exercise: str) -> None:
    """Question, command, what you see, why, the fix."""
    text = (PAGES / f"{exercise}.md").read_text(encoding="utf-8")

    headings = re.findall(r"^## (.+)$", text, flags=re.MULTILINE)
    assert headings == ["Run it", "What you see", "Why", "The fix", "By hand"]
    for scenario in SCENARIOS:
        if scenario.exercise == exercise:
            assert f"barnabas lab run {scenario.name}" in text
            assert scenario.question in " ".join(text.split())


@pytest.mark.parametrize("exercise", ["read-committed", "zombie"])
def test_transactions_by_hand_are_more_than_looked_at(exercise: str) -> None:
    text = (PAGES / f"{exercise}.md").read_text(encoding="utf-8").partition("## By hand")[2]

    assert text.count("--transactional-id") == 2, "one that is given up, and one that takes over"
    assert "--isolation-level read_committed" in text


def test_the_index_links_to_every_page() -> None:
    index = (PAGES / "README.md").read_text(encoding="utf-8")

    assert [each for each in EXERCISES if f"({each}.md)" not in index] == []
    assert {page.stem for page in PAGES.glob("*.md")} >= set(EXERCISES)
