"""Every scenario of the break-fix lab, and again: python tests/soak/lab.py --times 20

Exit status 1 if any run does not come out as its scenario predicts: 20 runs of 20, or it is luck.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import Counter, defaultdict


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="scenarios; without any, all of them")
    parser.add_argument("--times", type=int, default=20)
    args = parser.parse_args()
    began = time.monotonic()
    good: Counter[str] = Counter()
    seconds: dict[str, list[float]] = defaultdict(list)
    failures: list[str] = []
    for number in range(1, args.times + 1):
        for name in args.names or names_of_all():
            found = run(name)
            good[name] += found["predicted"]
            seconds[name].append(found["seconds"])
            if not found["predicted"]:
                failures.append(f"{name}, run {number}: {found['surprises']}")
                print(failures[-1], flush=True)
        print(f"round {number} of {args.times}: {len(failures)} failures so far", flush=True)
    for name, count in good.items():
        took = sorted(seconds[name])
        print(f"{name:<24} {count:>3} of {args.times}  {took[0]:.1f} to {took[-1]:.1f} s")
    print(f"{time.monotonic() - began:.0f} s in all")
    sys.exit(1 if failures else 0)


def names_of_all() -> list[str]:
    done = lab("list", "--json")
    return [each["name"] for each in json.loads(done.stdout)]


def run(name: str) -> dict[str, object]:
    done = lab("run", name, "--json")
    try:
        found: dict[str, object] = json.loads(done.stdout)
    except ValueError:
        return {"predicted": False, "seconds": 0.0, "surprises": done.stderr.strip()[-2000:]}
    return found


def lab(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "barnabas.cli.main", "lab", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )


if __name__ == "__main__":
    main()
