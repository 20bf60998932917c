"""kill -9 under load: python tests/soak/crash.py --rounds 50 [--seed N]"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import crash_rounds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    args = parser.parse_args()
    print(f"seed {args.seed}: repeat with --rounds {args.rounds} --seed {args.seed}", flush=True)
    with tempfile.TemporaryDirectory() as data_dir:
        crash_rounds.run(
            Path(data_dir),
            rounds=args.rounds,
            seed=args.seed,
            report=lambda line: print(line, flush=True),
        )


if __name__ == "__main__":
    main()
