"""Planted differences among many records: python tests/soak/reconcile.py --records 10000000"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from pipeline_rounds import session_of

LOOK_AGAIN_S = 0.5
PARTITIONS = 6
KINDS = ("lost", "duplicated", "foreign", "swapped")
QUOTE = 'it is, "as they say", a value - with commas'


def line_of(number: int) -> str:
    return f"orders,{number % PARTITIONS},{number},{QUOTE} {number}\n"


def plant(records: int, each: int, chance: random.Random) -> dict[str, set[int]]:
    """Numbers of records to which something happens, far enough apart to tell them apart."""
    spots = chance.sample(range(1, records // 100), 4 * each)
    return {
        kind: {100 * spot for spot in spots[index * each : (index + 1) * each]}
        for index, kind in enumerate(KINDS)
    }


def received(records: int, planted: dict[str, set[int]]) -> Iterator[str]:
    for number in range(records):
        if number in planted["lost"]:
            continue
        if number in planted["swapped"]:  # changes places with the next one of its partition
            yield line_of(number + PARTITIONS)
        elif number - PARTITIONS in planted["swapped"]:
            yield line_of(number - PARTITIONS)
        else:
            yield line_of(number)
        if number in planted["duplicated"]:
            yield line_of(number)
        if number in planted["foreign"]:
            yield f"orders,{number % PARTITIONS},foreign-{number},?\n"


def largest_mb(leader: int) -> float:
    """What the largest process of a session has had in memory at most: its JVM."""
    most = 0
    for pid in session_of(leader):
        try:
            status = Path(f"/proc/{pid}/status").read_text()
        except OSError:
            continue  # it has just ended
        found = re.search(r"VmHWM:\s+(\d+) kB", status)
        most = max(most, int(found[1]) if found else 0)
    return most / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--planted", type=int, default=1000, help="of each kind")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--heap", default="1g")
    args = parser.parse_args()
    print(f"seed {args.seed}", flush=True)
    planted = plant(args.records, args.planted, random.Random(args.seed))
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root)
        with (folder / "sent.log").open("w") as log:
            log.writelines(map(line_of, range(args.records)))
        with (folder / "received.log").open("w") as log:
            log.writelines(received(args.records, planted))
        size = (folder / "sent.log").stat().st_size
        print(f"{args.records:,} records, {size / 2**20:,.0f} MB on each side", flush=True)
        begun = time.monotonic()
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "barnabas.cli.main", "pipeline", "reconcile", "--json"),
                *("--sent", "sent.log", "--received", "received.log"),
                *("--limit", str(args.planted), "--spark-conf", f"spark.driver.memory={args.heap}"),
            ],
            stdout=subprocess.PIPE,
            cwd=folder,
            start_new_session=True,
        )
        peak_mb = 0.0
        while True:
            peak_mb = max(peak_mb, largest_mb(process.pid))
            try:
                said, _ = process.communicate(timeout=LOOK_AGAIN_S)
                break
            except subprocess.TimeoutExpired:
                pass  # it goes on; so does the looking
        took_s = time.monotonic() - begun
    assert process.returncode == 1, process.returncode
    check(json.loads(said), planted, args.records)
    rate = 2 * args.records / took_s
    print(
        f"all found: {took_s:.1f} s, {rate:,.0f} lines/s; largest process {peak_mb:,.0f} MB",
        flush=True,
    )


def check(
    report: dict[str, list[dict[str, object]]], planted: dict[str, set[int]], records: int
) -> None:
    counts: Counter[str] = Counter()
    for row in report["counts"]:
        counts.update({name: value for name, value in row.items() if isinstance(value, int)})
    expected = {kind: len(numbers) for kind, numbers in planted.items()}
    assert counts["sent"] == records
    assert (
        counts["received"]
        == records - expected["lost"] + expected["duplicated"] + expected["foreign"]
    )
    found: dict[str, set[str]] = {}
    for each in report["findings"]:
        found.setdefault(str(each["kind"]), set()).add(str(each["key"]))
        if each["sent_at"] is not None:
            assert each["sent_at"] == int(str(each["key"])) + 1, each
    for kind in ("lost", "duplicated"):
        assert counts[kind] == expected[kind], kind
        assert found[kind] == {str(number) for number in planted[kind]}, kind
    assert found["foreign"] == {f"foreign-{number}" for number in planted["foreign"]}
    assert counts["reordered"] == expected["swapped"]
    assert found["reordered"] == {str(number) for number in planted["swapped"]}


if __name__ == "__main__":
    main()
