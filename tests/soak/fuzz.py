"""A million malformed frames: python tests/soak/fuzz.py --frames 1000000 [--seed N]"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import bad_frames
from barnabas_process import BarnabasProcess
from broker_facts import advertised, create_topics, resident_kib

GROWTH_KIB_MAX = 30 * 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    args = parser.parse_args()
    print(f"seed {args.seed}", flush=True)
    with tempfile.TemporaryDirectory() as data_dir, BarnabasProcess(Path(data_dir)) as broker:
        create_topics(broker.bootstrap, bad_frames.BYSTANDER, bad_frames.VICTIM)
        versions = advertised(broker.port)
        bad_frames.attack(broker.port, versions=versions, count=20_000, seed=args.seed)
        before = resident_kib(broker.pid)

        def progress(tally: bad_frames.Tally) -> None:
            if tally.frames % 50_000 == 0:
                print(
                    f"{tally.frames} frames: {tally.closed} closed, {tally.answered} answered, "
                    f"bystander fine {tally.bystander_rounds} times, "
                    f"{resident_kib(broker.pid) // 1024} MiB resident (warm: {before // 1024})",
                    flush=True,
                )

        bad_frames.attack(
            broker.port,
            versions=versions,
            count=args.frames,
            seed=args.seed + 1,
            each_round=progress,
        )
        after = resident_kib(broker.pid)
        broker.stop()
        print(f"done: {before // 1024} MiB before, {after // 1024} MiB after", flush=True)
        if after - before > GROWTH_KIB_MAX:
            sys.exit(f"memory grew by {(after - before) // 1024} MiB")


if __name__ == "__main__":
    main()
