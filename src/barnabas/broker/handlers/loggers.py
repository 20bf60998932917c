"""The broker's own log levels, as the BROKER_LOGGER resource.

Kept by this process alone and until it ends; nothing is written to the journal.  Level names are
those of Kafka, which people type: WARN and FATAL are Python's WARNING and CRITICAL.
"""

from __future__ import annotations

import logging

from barnabas.base.errors import InvalidConfig, InvalidRequest

ROOT = "root"
LEVELS = {
    "TRACE": 5,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
}
SET, DELETE, APPEND, SUBTRACT = range(4)
OPERATIONS = {SET: "SET", DELETE: "DELETE", APPEND: "APPEND", SUBTRACT: "SUBTRACT"}


def levels() -> dict[str, str]:
    """The level that each of our loggers goes by, by name; the root logger first."""
    ours = sorted(
        name
        for name, made in logging.root.manager.loggerDict.items()
        if isinstance(made, logging.Logger) and name.partition(".")[0] == "barnabas"
    )
    found = {ROOT: _name(logging.root.getEffectiveLevel())}
    return found | {name: _name(logging.getLogger(name).getEffectiveLevel()) for name in ours}


def _name(level: int) -> str:
    """The most severe name that is not above `level`."""
    return max(
        (name for name in LEVELS if LEVELS[name] <= level),
        key=LEVELS.__getitem__,
        default="TRACE",
    )


def check(name: str, operation: int, level: str | None) -> None:
    """Whether this change of one logger can be made."""
    if operation not in (SET, DELETE):
        raise InvalidRequest(
            f"{OPERATIONS.get(operation, operation)} is not an operation on a logger's level."
        )
    if name not in levels():
        raise InvalidConfig(f"There is no logger called {name}.")
    if operation == SET and level not in LEVELS:
        raise InvalidConfig(f"A logger's level is one of {', '.join(LEVELS)}, not {level}.")
    if operation == DELETE and name == ROOT:
        raise InvalidRequest("The root logger always has a level of its own.")


def change(name: str, operation: int, level: str | None) -> None:
    """Make a change that `check` has let through.  Without a level, the parent's counts."""
    chosen = logging.NOTSET if operation == DELETE else LEVELS[level or ""]
    logging.getLogger(None if name == ROOT else name).setLevel(chosen)
