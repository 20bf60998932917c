"""One run of the benchmark: its targets, rounds and measured values."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import TextIO

from disturbance import QUIET, Watch
from harness.brokers import Broker
from harness.processes import cpu_seconds
from targets import Target

WARM_UPS_MAX = 12
QUICK_WARM_UPS_MAX = 3
STEADY = 0.8

Case = tuple[str, str]
"""The part and the title of a row."""
Action = Callable[[], Mapping[str, float]]
"""Measures once; values by the names of their metrics."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One measured value; `text` in place of it where there is no number, only a fact."""

    part: str
    case: str
    metric: str
    target: str
    round: int
    value: float | None = None
    text: str = ""
    others: float = 0.0
    """The share of the CPU that others used meanwhile."""


@dataclass(slots=True, kw_only=True)
class Session:
    """`folder` is on the disk that the data goes to; all targets use the same one."""

    targets: list[Target]
    rounds: int
    quick: bool
    folder: Path
    history: TextIO
    patience: float = 0.0
    """Seconds that may be spent on repeating what others disturbed."""
    samples: list[Sample] = field(default_factory=list)
    disturbed: list[float] = field(default_factory=list)
    """What others used of the machine during each measurement that counts."""
    repeated: int = 0
    running: list[Broker] = field(default_factory=list)
    helpers: list[int] = field(default_factory=list)
    """Processes that put the load on, where that is not this one."""
    started: float = field(default_factory=time.time)

    def scale(self, count: int) -> int:
        """A number of records, fewer of them in a quick run."""
        return count // 4 if self.quick else count

    def in_turn(self) -> Iterator[tuple[int, Target]]:
        """Every target in every round; each round begins with another one."""
        for number in range(self.rounds):
            shift = number % len(self.targets)
            for target in self.targets[shift:] + self.targets[:shift]:
                yield number, target

    def new_folder(self, name: str) -> Path:
        return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.folder))

    @contextmanager
    def all_running(self) -> Iterator[dict[str, Broker]]:
        """One warm broker of each kind, side by side; only one is under load at any time."""
        with ExitStack() as stack:
            brokers = {
                target.name: stack.enter_context(target.running(self.new_folder(target.name)))
                for target in self.targets
            }
            self.running = list(brokers.values())
            try:
                yield brokers
            finally:
                self.running = []

    def warm_up(self, cost: Callable[[], float]) -> None:
        """Repeat a load, unmeasured, until it gets no cheaper.

        A JVM compiles for quite a while; what is measured before is its interpreter. Warm is a
        broker that twice in a row did not cost at least a fifth less than its best so far.
        """
        best, stale = float("inf"), 0
        for _ in range(QUICK_WARM_UPS_MAX if self.quick else WARM_UPS_MAX):
            found = cost()
            stale = 0 if found < STEADY * best else stale + 1
            best = min(best, found)
            if stale == 2:
                return

    def take(self, number: int, target: Target, case: Case, action: Action) -> None:
        """Measure, and note what came out; again while others disturb it and patience lasts.

        Whether a measurement counts depends on what others used of the machine meanwhile, never on
        its result.
        """
        while True:
            began = time.monotonic()
            watch = Watch(self._pids)
            values = action()
            share = watch.share()
            if share <= QUIET or self.patience <= 0:
                break
            print(f"  others used {share:.0%} of the CPU: once more", flush=True)
            self.repeated += 1
            self._wait_for_quiet()
            self.patience -= time.monotonic() - began
        self.disturbed.append(share)
        for metric, value in values.items():
            self.note(
                Sample(
                    part=case[0],
                    case=case[1],
                    metric=metric,
                    target=target.name,
                    round=number,
                    value=value,
                    others=round(share, 3),
                )
            )

    def _pids(self) -> list[int]:
        return [*(broker.child.pid for broker in self.running), *self.helpers]

    def _wait_for_quiet(self) -> None:
        deadline = time.monotonic() + self.patience
        while time.monotonic() < deadline:
            watch = Watch(self._pids)
            time.sleep(1.0)
            if watch.share() <= QUIET:
                return

    def note(self, sample: Sample) -> None:
        self.samples.append(sample)
        line = {"run": round(self.started), **asdict(sample)}
        self.history.write(json.dumps(line) + "\n")
        self.history.flush()
        shown = sample.text if sample.value is None else f"{sample.value:,.3f}"
        place = f"round {sample.round + 1}  {sample.target:9}"
        print(f"  {place} {sample.case:44} {sample.metric:16} {shown:>14}", flush=True)

    @property
    def is_quiet(self) -> bool:
        """Whether the values say something about the brokers, and not about other programs."""
        return median(self.disturbed) <= QUIET

    def median(self, part: str, case: str, metric: str, target: str) -> float | str | None:
        """The middle value of all rounds; a text when there is only that; None: not measured."""
        key = (part, case, metric, target)
        found = [s for s in self.samples if (s.part, s.case, s.metric, s.target) == key]
        numbers = [s.value for s in found if s.value is not None]
        if numbers:
            return median(numbers)
        return found[-1].text if found else None


@dataclass(slots=True)
class CpuMeter:
    """CPU seconds that a broker (with its children) spends while the block runs."""

    broker: Broker
    seconds: float = 0.0
    _before: float = 0.0

    def __enter__(self) -> CpuMeter:
        self._before = cpu_seconds(self.broker.child.pid)
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = cpu_seconds(self.broker.child.pid) - self._before
