"""Barnabas beside Apache Kafka and librdkafka's mock cluster: `make bench`.

Prints every value as it is measured, keeps it in `bench/history.jsonl`, and writes the table of
medians to `docs/benchmarks.md` when all parts ran in full on a quiet machine.
"""

from __future__ import annotations

import argparse
import compileall
import datetime
import shutil
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path

BENCH = Path(__file__).resolve().parent
ROOT = BENCH.parent
sys.path.insert(0, str(ROOT / "tests" / "conformance"))

PARTS = (
    *("process", "produce", "consume", "latency", "replay", "partitions", "groups", "cluster"),
    *("tools", "spark"),
)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one round, a quarter of the records")
    parser.add_argument("--rounds", type=int, help="how often each value is measured (default 3)")
    parser.add_argument("--only", action="append", choices=PARTS, help="may be repeated")
    parser.add_argument("--targets", help="names, by commas; default: all (apache,barnabas,mock)")
    parser.add_argument(
        "--patience",
        type=float,
        default=0.0,
        help="seconds to spend, in all, on repeating what other programs disturbed (default 0)",
    )
    parser.add_argument(
        "--write", action="store_true", help="write in any case; with --only: just those sections"
    )
    return parser.parse_args()


def main() -> int:
    import targets
    from machine import description, warm_memory
    from report import markdown, refreshed
    from session import Session

    options = parse()
    rounds = options.rounds or (1 if options.quick else 3)
    wanted = options.targets.split(",") if options.targets else None
    chosen = [t for t in targets.available() if wanted is None or t.name in wanted]
    folder = Path(tempfile.mkdtemp(prefix="bench-", dir=data_root()))
    began = time.monotonic()
    compileall.compile_dir(ROOT / "src", quiet=1)  # as an installed package is
    warm_memory()
    with (BENCH / "history.jsonl").open("a") as history:
        session = Session(
            targets=chosen,
            rounds=rounds,
            quick=options.quick,
            folder=folder,
            history=history,
            patience=options.patience,
        )
        try:
            for name in options.only or PARTS:
                print(f"{name} ({time.monotonic() - began:.0f} s)", flush=True)
                import_module(f"parts.{name}").run(session)
            today = datetime.datetime.now(datetime.UTC).date().isoformat()
            facts = description(folder, session.disturbed, session.repeated)
            table = markdown(session, facts, today)
            page = ROOT / "docs" / "benchmarks.md"
            if options.only and page.exists():
                written = refreshed(page.read_text(), session, facts, today)
            else:
                written = table
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    print(table)
    in_full = not (options.only or options.quick or options.targets)
    if options.write or (in_full and session.is_quiet):
        page.write_text(written)
        print("written to docs/benchmarks.md")
    elif in_full:
        print("not written: other programs used too much of the machine; see `Other load`")
    print(f"{time.monotonic() - began:.0f} s")
    return 0


def data_root() -> Path:
    """The data of all targets goes to the disk that the checkout is on."""
    folder = ROOT / ".cache"
    folder.mkdir(exist_ok=True)
    return folder


if __name__ == "__main__":
    sys.exit(main())
