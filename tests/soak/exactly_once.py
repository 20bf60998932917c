"""Exactly once while workers and broker are killed: python tests/soak/exactly_once.py --rounds 50

Each client has all rounds and all records for itself.  Exit status 1 if a record is missing, is
there twice or out of order, or if a transaction stays open.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
sys.path.insert(0, str(Path(__file__).parents[1] / "conformance"))

import exactly_once


def kinds(client: str) -> list[exactly_once.Kind]:
    found = []
    if client in ("confluent", "both"):
        found.append(exactly_once.confluent())
    if client in ("java", "both"):
        from harness.jvm import program

        found.append(exactly_once.Kind(name="java", command=program("ExactlyOnceWorker")))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--records", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--client", choices=["confluent", "java", "both"], default="both")
    parser.add_argument("--transaction-version", type=int, choices=[0, 1, 2], default=2)
    parser.add_argument("--keep", type=Path, help="a folder in which data and logs are to stay")
    args = parser.parse_args()
    print(f"seed {args.seed}: repeat with --seed {args.seed}", flush=True)
    for kind in kinds(args.client):
        plan = exactly_once.Plan(
            kind=kind,
            rounds=args.rounds,
            records=args.records,
            seed=args.seed,
            transaction_version=args.transaction_version,
        )
        with tempfile.TemporaryDirectory() as folder:
            try:
                exactly_once.run(
                    args.keep / kind.name if args.keep else Path(folder),
                    plan,
                    lambda line, name=kind.name: print(f"{name}: {line}", flush=True),
                )
            except exactly_once.ExactlyOnceError as broken:
                sys.exit(f"NOT exactly once with {kind.name}, seed {args.seed}: {broken}")
        print(f"exactly once with {kind.name}: {args.rounds} rounds, seed {args.seed}", flush=True)


if __name__ == "__main__":
    main()
