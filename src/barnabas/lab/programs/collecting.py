"""Payload logs of several programs, put together: the two files whose difference is the result."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from barnabas.lab.programs.payload_log import PATTERN, PayloadLine, in_order, read_lines
from barnabas.lab.verdict.records import History, ReceivedRecord, SentRecord

SIDES = ("producer", "consumer")
DATA_DEPTH = 3
"""How deep under a folder its brokers' directories may be."""


def logs_of(folder: Path, side: str) -> list[Path]:
    """Payload logs that the programs of one side have left in a lab's folder."""
    return sorted((folder / side).glob(PATTERN))


@dataclass(frozen=True, slots=True)
class Collected:
    """What one side's logs came to."""

    side: str
    target: Path
    sources: tuple[Path, ...]
    count: int


def collect(folder: Path) -> list[Collected]:
    """Sorts the logs of each side into `<side>.log` and removes them; all are read before anything
    is changed.  A side without logs keeps what it was collected into before, and is left out.
    """
    found = [(side, sources) for side in SIDES if (sources := logs_of(folder, side))]
    read = [in_order(line for path in sources for line in read_lines(path)) for _, sources in found]
    return [
        _replace(folder, side, sources, lines)
        for (side, sources), lines in zip(found, read, strict=True)
    ]


def _replace(folder: Path, side: str, sources: list[Path], lines: list[PayloadLine]) -> Collected:
    """The logs go once what they came to is written."""
    target = folder / f"{side}.log"
    beside = target.with_suffix(".log.new")
    beside.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
    beside.replace(target)
    for path in sources:
        path.unlink()
    return Collected(side, target, tuple(sources), len(lines))


def payload_files(place: Path) -> list[Path]:
    """One log, or those of a side's folder."""
    return sorted(place.glob(PATTERN)) if place.is_dir() else [place]


def history_of_logs(producers: Iterable[Path], consumers: Iterable[Path]) -> History:
    """What payload logs say: no offsets, and nothing of what failed.

    Keys and values are compared as they stand in the logs.  The order of a producer's log is that
    in which records were acknowledged, which is why only journals show what the cluster reordered.
    """
    sent = [
        SentRecord(line.topic, line.partition, line.key, line.value, producer=str(path))
        for path in producers
        for line in read_lines(path)
    ]
    received = [
        ReceivedRecord(line.topic, line.partition, line.key, line.value, consumer=str(path))
        for path in consumers
        for line in read_lines(path)
    ]
    return History(sent=sent, received=received)


def leavings(folder: Path) -> list[Path]:
    """Payload logs and what they were collected into."""
    found = [path for side in SIDES for path in logs_of(folder, side)]
    return found + [path for side in SIDES if (path := folder / f"{side}.log").is_file()]


def data_directories(folder: Path) -> list[Path]:
    """Directories of brokers under a folder: those that say so themselves."""
    found = []
    for depth in range(1, DATA_DEPTH + 1):
        found += [path.parent for path in folder.glob("*/" * depth + "meta.properties")]
    return sorted(path for path in found if not path.is_symlink())


def is_in_use(directory: Path) -> bool:
    """Whether a broker runs on it: one holds the lock of its directory."""
    try:
        with (directory / ".lock").open("rb+") as file:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


def remove(paths: Iterable[Path]) -> None:
    """Files, and directories with all that is in them."""
    for path in paths:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
