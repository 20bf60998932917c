"""The verdict on payload logs is the difference of the two, whatever is in them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.lab.programs.collecting import collect, history_of_logs, payload_files
from barnabas.lab.programs.payload_log import PayloadLog
from barnabas.lab.verdict.judging import Verdict, judge

records = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 5), st.sampled_from(["a, b", '"x"', "-", ""])),
    max_size=20,
)
sides = st.lists(records, min_size=1, max_size=3)
Side = list[list[tuple[int, int, str]]]


def write(folder: Path, side: str, logs: Side) -> Counter[str]:
    """The lines of all logs of one side."""
    for number, log in enumerate(logs):
        with PayloadLog(folder / side / f"payload-{number}.log") as written:
            for partition, key, value in log:
                written.add("t", partition, str(key).encode(), value.encode())
    return Counter(
        line
        for path in payload_files(folder / side)
        for line in path.read_text(encoding="utf-8").splitlines()
    )


def counts(verdict: Verdict) -> tuple[int, int, int]:
    return len(verdict.lost), len(verdict.duplicated), len(verdict.foreign)


@settings(deadline=None)
@given(sent=sides, received=sides)
def test_counts_are_those_of_the_lines_before_and_after_collecting(
    sent: Side, received: Side
) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        before, after = write(folder, "producer", sent), write(folder, "consumer", received)
        expected = (
            (before - after).total(),
            sum(count for line, count in (after - before).items() if before[line]),
            sum(count for line, count in after.items() if not before[line]),
        )
        found = judge(
            history_of_logs(payload_files(folder / "producer"), payload_files(folder / "consumer"))
        )
        assert counts(found) == expected
        logs = [one.target for one in collect(folder)]
        assert counts(judge(history_of_logs(*([log] for log in logs)))) == expected
        assert found.is_clean == (before == after and not found.reordered)


@settings(deadline=None)
@given(log=st.lists(st.integers(0, 1000), unique=True, max_size=30))
def test_exactly_those_that_stand_behind_later_ones_are_reordered(log: list[int]) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, "producer", [[(0, key, "") for key in sorted(log)]])
        write(folder, "consumer", [[(0, key, "") for key in log]])
        found = judge(
            history_of_logs(payload_files(folder / "producer"), payload_files(folder / "consumer"))
        )
    late = {str(key) for place, key in enumerate(log) if any(one > key for one in log[:place])}

    assert {one.key for one in found.reordered} == late
