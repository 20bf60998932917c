"""`python -m barnabas.lab.sim`: run seeds, say which fail and how to see them again."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.lab.sim.scenario import Report

HASH_SEED = "PYTHONHASHSEED"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m barnabas.lab.sim", description=__doc__)
    parser.add_argument("--seed", type=int, action="append", help="run this seed (may be repeated)")
    parser.add_argument("--first", type=int, default=1, help="the first of many seeds")
    parser.add_argument("--count", type=int, default=100, help="how many seeds")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--verbose", action="store_true", help="show what nodes logged")
    options = parser.parse_args(arguments)
    if os.environ.get(HASH_SEED) != "0":  # the order of sets of names depends on it
        os.execve(
            sys.executable,
            [sys.executable, "-m", "barnabas.lab.sim", *(arguments or sys.argv[1:])],
            {**os.environ, HASH_SEED: "0"},
        )
    seeds = options.seed or range(options.first, options.first + options.count)
    return _run(seeds, jobs=options.jobs, verbose=options.verbose)


def _run(seeds: Iterable[int], *, jobs: int, verbose: bool) -> int:
    began = time.monotonic()
    total: Counter[str] = Counter()
    faults: Counter[str] = Counter()
    failed = 0

    def take(report: Report) -> None:
        nonlocal failed
        total.update(seeds=1, acknowledged=report.acknowledged, read=report.polled)
        total["virtual seconds"] += int(report.seconds)
        faults.update(report.faults)
        if verbose:
            print("\n".join(report.lines))
        if not report.is_good:
            failed += 1
            print(f"seed {report.seed} FAILED ({', '.join(report.faults)})")
            for violation in report.violations[:10]:
                print(f"  {violation}")
            print(f"  reproduce: {report.reproduce}", flush=True)

    for report in _reports(seeds, jobs):
        take(report)
    counts = ", ".join(f"{count} {name}" for name, count in total.items())
    print(f"{counts} in {time.monotonic() - began:.1f} s; failed: {failed}")
    print("faults: " + ", ".join(f"{count} {name}" for name, count in sorted(faults.items())))
    return 1 if failed else 0


def _reports(seeds: Iterable[int], jobs: int) -> Iterator[Report]:
    from barnabas.lab.sim.scenario import run_seed

    chosen = list(seeds)
    if jobs <= 1 or len(chosen) == 1:
        for seed in chosen:
            yield run_seed(seed)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(run_seed, chosen, chunksize=1)


if __name__ == "__main__":
    sys.exit(main())
