"""kill -9 of drivers and executors: python tests/soak/pipelines.py --rounds 20 [--seed N]"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from barnabas_process import BarnabasProcess
from pipeline_rounds import VICTIMS, archive_rounds, replay_rounds, transform_rounds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--records", type=int, default=20_000, help="sent before each round")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--only", choices=("archive", "transform"), help="archive includes replay")
    args = parser.parse_args()
    print(f"seed {args.seed}: repeat with --rounds {args.rounds} --seed {args.seed}", flush=True)
    chance = random.Random(args.seed)
    victims = [chance.choice(VICTIMS) for _ in range(args.rounds)]

    def report(line: str) -> None:
        print(f"{time.strftime('%H:%M:%S')} {line}", flush=True)

    with (
        tempfile.TemporaryDirectory() as root,
        BarnabasProcess(Path(root) / "data") as broker,
    ):
        if args.only != "transform":
            folder = Path(root) / "archive"
            folder.mkdir()
            sent = archive_rounds(
                broker,
                folder,
                victims=victims,
                records=args.records,
                chance=chance,
                report=report,
            )
            replay_rounds(broker, folder, sent, victims=victims, chance=chance, report=report)
        if args.only != "archive":
            folder = Path(root) / "transform"
            folder.mkdir()
            transform_rounds(
                broker,
                folder,
                victims=victims,
                records=args.records,
                chance=chance,
                report=report,
            )
    print("all of it exactly once", flush=True)


if __name__ == "__main__":
    main()
