"""Scenarios of the break-fix lab, run as people run them.

Longer ones are in the conformance tests, all of them in tests/soak/lab.py.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from barnabas_process import BarnabasProcess
from confluent_kafka.admin import AdminClient
from eventually import eventually
from terminal import CTRL_C, Terminal

COMMAND: list[str | Path] = [sys.executable, "-m", "barnabas.cli.main", "lab"]
TIMEOUT_S = 240


def lab(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *words], capture_output=True, text=True, check=False, timeout=TIMEOUT_S
    )


def outcome(*words: str) -> Any:
    done = lab("run", *words, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def test_the_baseline_loses_nothing_and_repeats_nothing(tmp_path: Path) -> None:
    """With a cluster of somebody else, which here is ours."""
    with BarnabasProcess(tmp_path, "group.initial.rebalance.delay.ms=0") as broker:
        found = outcome("2.2a", "--bootstrap-server", broker.bootstrap)
        left = left_in(broker.bootstrap)

    assert left == (set(), set())
    assert (found["predicted"], found["lost"], found["duplicated"]) == (True, 0, 0)
    assert (found["sent"], found["received"]) == (100, 100)
    assert found["offending"] == []


@pytest.mark.parametrize("name", ["4.1", "poison-fix"])
def test_nothing_stays_in_somebody_elses_cluster(tmp_path: Path, name: str) -> None:
    """Neither the group of a consumer that was killed nor a second topic."""
    with BarnabasProcess(tmp_path, "group.initial.rebalance.delay.ms=0") as broker:
        outcome(name, "--bootstrap-server", broker.bootstrap)

        assert left_in(broker.bootstrap) == (set(), set())


def left_in(bootstrap: str) -> tuple[set[str], set[str]]:
    """Topics, but those of the broker itself, and groups."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    topics = {name for name in admin.list_topics(timeout=60).topics if not name.startswith("__")}
    groups = admin.list_consumer_groups(request_timeout=60).result(60).valid
    return topics, {each.group_id for each in groups}


def test_acks_1_loses_what_only_the_dead_leader_had(tmp_path: Path) -> None:
    page = tmp_path / "report.html"

    found = outcome("3.2b", "--html", str(page), "--keep", str(tmp_path / "kept"))

    assert found["predicted"]
    assert found["lost"] > 0
    assert found["acknowledged"] - found["lost"] <= found["received"]
    assert {each["name"] for each in found["offending"]} <= {"lost write", "unseen"}
    first = min(each["offset"] for each in found["offending"] if each["partition"] == 0)
    assert 0 < first <= 600, "from the batch on that was held back"
    assert f"{found['lost']:,}</b>lost" in page.read_text(encoding="utf-8")
    (folder,) = (tmp_path / "kept").iterdir()
    assert (folder / "producer" / "payload-1.log").is_file()
    assert (folder / "consumer" / "payload-1.log").is_file()


@pytest.mark.parametrize(
    ("name", "columns", "twice"), [("2.2b-fix", 80, 100), ("2.2a", 160, 0)], ids=["80", "160"]
)
def test_the_timeline_is_drawn_over_itself_and_stays(name: str, columns: int, twice: int) -> None:
    terminal = Terminal([*COMMAND, "run", name], columns=columns, rows=40, env={"NO_COLOR": "1"})
    try:
        terminal.read_until(b"consumer-1 starts", timeout_s=TIMEOUT_S)
        shown = terminal.read_to_end(timeout_s=TIMEOUT_S).decode()
        everything = terminal.transcript.decode()
        assert terminal.process.returncode == 0, everything
    finally:
        terminal.close()

    assert re.search(r"\x1b\[\d+A", everything), "frames are drawn over those before"
    assert f"{name}: as predicted: 0 lost, {twice} duplicated" in shown
    lines = re.sub(r"\x1b\[\d*[A-Za-z]", "", everything).replace("\r", "").split("\n")
    drawn = [line for line in lines if line.startswith("part leader ISR")]
    assert {len(line) for line in drawn} == {columns}
    last = [line for line in lines if re.match(r" +0 +1 1 ", line)][-1]
    assert last.partition("|")[0].split()[3:] == ["100", "100", str(100 + twice)]


@pytest.mark.parametrize("is_killed", [False, True], ids=["ctrl-c", "killed"])
def test_nothing_that_was_started_outlives_a_run(is_killed: bool, tmp_path: Path) -> None:
    terminal = Terminal([*COMMAND, "run", "3.2b"], env={"TMPDIR": str(tmp_path)})
    try:
        terminal.read_until(b"producer-1 starts", timeout_s=TIMEOUT_S)
        children = descendants(terminal.process.pid)
        assert len(children) >= 5  # a controller, three brokers, a producer
        if is_killed:
            terminal.process.kill()
        else:
            terminal.type(CTRL_C)
        terminal.read_to_end(timeout_s=TIMEOUT_S)
        assert terminal.process.returncode == (-9 if is_killed else 130)
        eventually(
            lambda: not any(is_running(pid) for pid in children),
            timeout_s=60 if is_killed else 0,
            what="the end of what it started",
        )
    finally:
        terminal.close()


def is_running(pid: int) -> bool:
    """One that nobody has waited for is no more than a line in a table."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def descendants(pid: int) -> list[int]:
    """All processes below one."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it has ended meanwhile
            parents[int(entry.name)] = int(fields[1])
    found: list[int] = []
    for each in parents:
        above = each
        while above in parents and above != pid:
            above = parents[above]
        if above == pid and each != pid:
            found.append(each)
    return found


def test_scenarios_are_listed_shown_and_looked_for_by_name() -> None:
    listed = lab("list", "--json")
    names = [each["name"] for each in json.loads(listed.stdout)]
    assert {"2.2a", "3.2b", "3.4-fix", "unclean-election-fix"} <= set(names)
    assert len(lab("list").stdout.splitlines()) == len(names)

    assert "Can it still get lost?" in lab("show", "3.2b").stdout

    wrong = lab("run", "unclean-elektion")
    assert wrong.returncode == 1
    assert 'no scenario "unclean-elektion": did you mean unclean-election?' in wrong.stderr


def test_a_scenario_that_breaks_its_cluster_leaves_those_of_others_alone() -> None:
    refused = lab("run", "3.2b", "--bootstrap-server", "localhost:1")

    assert refused.returncode == 1
    assert "3.2b breaks its cluster, so it needs one of its own" in refused.stderr


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["run"], "the name of a scenario is missing"),
        (["run", "2.2a", "--all"], "give either --all or names"),
        (["run", "2.2a", "--set", "acks=0"], "acks=0 changes nothing of 2.2a"),
        (["run", "2.2a", "--set", "producer.acks=7"], 'acks: "7" is not one of'),
        (["run", "2.2a", "--html", "nowhere/x.html"], "there is no directory nowhere"),
        (["show", "2.2z"], 'there is no scenario "2.2z"'),
    ],
)
def test_what_cannot_be_is_one_line_before_anything_starts(words: list[str], text: str) -> None:
    refused = lab(*words)

    assert refused.returncode == 1
    assert text in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
