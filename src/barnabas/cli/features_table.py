"""Features of Kafka's releases: levels, their names, and what each release begins with.  Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from barnabas.cli.options import UsageError

METADATA_VERSION = "metadata.version"
FIRST_LEVEL = 7
RELEASES = {
    "3.3": 3,
    "3.4": 0,
    "3.5": 2,
    "3.6": 2,
    "3.7": 4,
    "3.8": 0,
    "3.9": 0,
    "4.0": 3,
    "4.1": 1,
    "4.2": 1,
    "4.3": 0,
    "4.4": 0,
}
"""Releases with the last of their metadata versions.  What came before 3.3-IV3 is not spoken any
more."""
LATEST = "4.3-IV0"
"""The last one that is not open to change."""


def _names() -> dict[int, str]:
    names = [
        f"{release}-IV{number}"
        for release, last in RELEASES.items()
        for number in range(last + 1)
        if release != "3.3" or number == last
    ]
    return dict(enumerate(names, FIRST_LEVEL))


METADATA_NAMES: Mapping[int, str] = _names()
"""Levels of metadata.version by their names in releases."""
METADATA_LEVELS = {name: level for level, name in METADATA_NAMES.items()}

SINCE: Mapping[str, Mapping[int, str]] = {
    "kraft.version": {1: "3.9-IV0"},
    "transaction.version": {2: "4.0-IV2"},
    "group.version": {1: "4.0-IV0"},
    "eligible.leader.replicas.version": {1: "4.1-IV0"},
    "share.version": {1: "4.2-IV0"},
    "streams.version": {1: "4.2-IV1"},
}
"""From which metadata version on a new cluster has a feature at a level."""
HIGHEST = {
    "kraft.version": 1,
    "transaction.version": 2,
    "group.version": 1,
    "eligible.leader.replicas.version": 1,
    "share.version": 1,
    "streams.version": 1,
}
REQUIRES: Mapping[tuple[str, int], Mapping[str, int]] = {
    ("eligible.leader.replicas.version", 1): {METADATA_VERSION: METADATA_LEVELS["4.0-IV1"]},
}

_RELEASE = re.compile(r"(\d+\.\d+)(?:\.\d+)*")


def level_text(feature: str, level: int) -> str:
    """A level as people know it: of metadata.version by its name."""
    if feature != METADATA_VERSION:
        return str(level)
    return METADATA_NAMES.get(level, f"UNKNOWN [{level}]")


def metadata_level(text: str) -> int:
    """`4.0-IV3`, or `4.0` and `4.0.1` for the last one of a release; `UsageError` if unknown."""
    level = METADATA_LEVELS.get(text)
    release = _RELEASE.fullmatch(text)
    if level is None and release is not None and release[1] in RELEASES:
        level = METADATA_LEVELS[f"{release[1]}-IV{RELEASES[release[1]]}"]
        if level > METADATA_LEVELS[LATEST]:
            level = None
    if level is None:
        known = ", ".join(METADATA_LEVELS)
        raise UsageError(
            f"Unknown metadata.version '{text}'. Supported metadata.version are: {known}"
        )
    return level


def of_release(metadata: int) -> dict[str, int]:
    """The levels of all other features in a new cluster with this metadata version."""
    return {
        feature: max(
            (level for level, since in levels.items() if METADATA_LEVELS[since] <= metadata),
            default=0,
        )
        for feature, levels in SINCE.items()
    }


def dependencies(feature: str, level: int) -> Mapping[str, int]:
    """Features that must have some level before this one can have its; `UsageError` if unknown."""
    if feature == METADATA_VERSION:
        if level not in METADATA_NAMES:
            raise UsageError(f"Unknown metadata.version {level}")
    elif feature not in HIGHEST:
        raise UsageError(f"Unknown feature: {feature}")
    elif not 0 <= level <= HIGHEST[feature]:
        raise UsageError(f"No feature:{feature} with feature level {level}")
    return REQUIRES.get((feature, level), {})
