from __future__ import annotations

import pytest

from barnabas.cli.features_table import (
    HIGHEST,
    LATEST,
    METADATA_LEVELS,
    SINCE,
    dependencies,
    level_text,
    metadata_level,
    of_release,
)
from barnabas.cli.options import UsageError


@pytest.mark.parametrize(
    ("text", "level"),
    [
        *(("3.3-IV3", 7), ("3.3", 7), ("3.3.2", 7), ("3.7", 19), ("3.7-IV0", 15), ("3.9", 21)),
        *(("4.0-IV3", 25), ("4.0", 25), ("4.0.1", 25), ("4.3", 30), ("4.4-IV0", 31)),
    ],
)
def test_levels_have_names_and_releases_their_last_one(text: str, level: int) -> None:
    assert metadata_level(text) == level


@pytest.mark.parametrize("text", ["", "4", "3.3-IV0", "3.2", "4.4", "4.0-IV9", "9.9", "4.0x"])
def test_what_is_no_release_is_refused_with_those_that_are(text: str) -> None:
    with pytest.raises(UsageError, match=f"Unknown metadata.version '{text}'.*4.0-IV3"):
        metadata_level(text)


def test_a_level_is_shown_by_its_name() -> None:
    assert level_text("metadata.version", 25) == "4.0-IV3"
    assert level_text("metadata.version", 0) == "UNKNOWN [0]"
    assert level_text("group.version", 1) == "1"


def test_later_releases_have_no_lower_levels() -> None:
    rows = [of_release(level) for level in sorted(METADATA_LEVELS.values())]
    for feature in SINCE:
        found = [row[feature] for row in rows]
        assert found == sorted(found)
        assert found[0] == 0
        assert of_release(METADATA_LEVELS[LATEST])[feature] == HIGHEST[feature]


def test_a_level_that_there_is_not_needs_nothing_because_it_is_refused() -> None:
    assert dependencies("kraft.version", 1) == {}
    for feature, level in (("nope", 1), ("group.version", 2), ("metadata.version", 6)):
        with pytest.raises(UsageError, match=str(level) if feature != "nope" else "nope"):
            dependencies(feature, level)
