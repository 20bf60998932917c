"""A cluster that is broken all the time: python tests/soak/cluster.py --minutes 10 [--seed N]

Brokers, controller and ZooKeeper are killed, stopped, frozen and cut off from each other while
producers (confluent-kafka, kafka-python, Java) and transactions go on; then every record that was
acknowledged must be there, once, in order, and nothing that was aborted.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "support"), str(TESTS / "conformance")]

import soak_cluster  # noqa: E402 (found by the path above)

JOURNALS = ("embedded", "zookeeper")
SHOWN = 20


def java_command() -> list[str]:
    from harness.apache import SMALL_JVM
    from harness.maven import classpath, compiled, need
    from harness.paths import CONFORMANCE

    logging = f"-Dlog4j2.configurationFile={CONFORMANCE / 'java' / 'log4j2.properties'}"
    classes = compiled(CONFORMANCE / "java" / "src")
    return [need("java"), *SMALL_JVM, logging, "-cp", f"{classes}:{classpath()}", "SoakProducer"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0, help="of faults, in all")
    parser.add_argument("--journal", choices=JOURNALS, action="append", help="default: both")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--without-java", action="store_true")
    args = parser.parse_args()
    java = [] if args.without_java else java_command()
    journals = args.journal or list(JOURNALS)
    print(f"seed {args.seed}: repeat with --minutes {args.minutes} --seed {args.seed}", flush=True)
    bad = 0
    for journal in journals:
        print(f"journal: {journal}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            verdict = soak_cluster.run(
                Path(folder),
                journal=journal,
                seed=args.seed,
                seconds=args.minutes * 60 / len(journals),
                report=lambda line: print(line, flush=True),
                java=java,
            )
        print(f"faults: {verdict.faults}")
        print(f"told: {verdict.counts}")
        for line in (*verdict.troubles[:SHOWN], *verdict.violations[:SHOWN]):
            print(f"  {line}")
        print(
            f"{journal}: {verdict.acknowledged} acknowledged, {verdict.polled} polled, "
            f"{len(verdict.violations)} violations, {len(verdict.troubles)} troubles",
            flush=True,
        )
        bad += not verdict.is_good
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
