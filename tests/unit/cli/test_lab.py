"""`barnabas lab` and its helpers, as far as they need no cluster."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from barnabas.cli.main import run_tool
from barnabas.cli.tools import TOOLS

Captured = pytest.CaptureFixture[str]


def lab(command: str, *argv: str) -> int:
    name = f"lab {command}".strip()
    return run_tool(f"barnabas {name}", TOOLS[name].module, argv)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A lab in which record 1 got lost and record 2 came twice."""
    for side, keys in (("producer", (1, 2, 3)), ("consumer", (2, 2, 3))):
        (tmp_path / side).mkdir()
        lines = "".join(f't,0,{key},"so, {key}"\n' for key in keys)
        (tmp_path / side / "payload.log").write_text(lines)
    return tmp_path


def test_the_lab_lists_its_commands(capsys: Captured) -> None:
    assert lab("") == 0
    listed = capsys.readouterr().out
    for name in TOOLS:
        if name.startswith("lab "):
            assert f"barnabas {name} " in listed


def test_diff_says_what_is_lost_and_what_came_twice(folder: Path, capsys: Captured) -> None:
    assert lab("diff", "--dir", str(folder)) == 1
    assert capsys.readouterr().out.splitlines() == [
        "3 sent, 3 acknowledged; 3 processed",
        "1 lost, 1 duplicated",
        "lost:",
        '  t-0 key 1 (lost)  "so, 1"',
        "duplicated:",
        '  t-0 key 2 (duplicate)  "so, 2"',
    ]


def test_diff_of_collected_logs_and_of_named_ones_is_the_same(
    folder: Path, capsys: Captured
) -> None:
    assert lab("diff", str(folder / "producer"), str(folder / "consumer"), "--json") == 1
    before = json.loads(capsys.readouterr().out)
    assert lab("collect", "--dir", str(folder)) == 0
    capsys.readouterr()
    assert lab("diff", "--dir", str(folder), "--json") == 1
    after = json.loads(capsys.readouterr().out)

    for document in (before, after):
        assert (document["lost"], document["duplicated"]) == (1, 1)
        assert [one["key"] for one in document["offending"]] == ["1", "2"]


def test_diff_of_journals_has_offsets(tmp_path: Path, capsys: Captured) -> None:
    journal = tmp_path / "p.journal"
    journal.write_text(
        '{"t":1,"who":"p","event":"acked","topic":"t","partition":0,"offsets":[7],"keys":["1"]}\n'
    )
    assert lab("diff", "--journal", str(journal)) == 1
    assert "  t-0 offset 7 key 1 (unseen)\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "complaint"),
    [
        (["--journal", "x", "a", "b"], "give either payload logs or --journal"),
        (["only-one"], "two payload logs, or folders with some, are needed"),
        (["--journal", "/nowhere/j"], "/nowhere/j does not exist"),
        (["--dir", "/nowhere"], "--dir: /nowhere is not a directory"),
    ],
)
def test_diff_names_what_is_wrong(argv: list[str], complaint: str, capsys: Captured) -> None:
    assert lab("diff", *argv) == 1
    assert capsys.readouterr().err == f"barnabas lab diff: {complaint}\n"


def test_files_that_are_none_of_the_lab_are_one_line(tmp_path: Path, capsys: Captured) -> None:
    bad = tmp_path / "bad"
    bad.write_text("nonsense\n")

    assert lab("diff", "--journal", str(bad)) == 1
    assert capsys.readouterr().err.startswith("barnabas lab diff: --journal: ")
    assert lab("diff", str(bad), str(bad)) == 1
    assert f"{bad}:1: not a line topic,partition,key,value" in capsys.readouterr().err


def test_files_that_are_no_text_are_one_line(folder: Path, capsys: Captured) -> None:
    bad = folder / "producer" / "payload-2.log"
    bad.write_bytes(b"t,0,1,fine\nt,0,2,\xff\n")

    assert lab("diff", "--journal", str(bad)) == 1
    assert capsys.readouterr().err == f"barnabas lab diff: --journal: {bad}: not UTF-8\n"
    assert lab("diff", "--dir", str(folder)) == 1
    assert capsys.readouterr().err == f"barnabas lab diff: {bad}:2: not UTF-8\n"
    assert lab("collect", "--dir", str(folder)) == 1
    assert capsys.readouterr().err == f"barnabas lab collect: {bad}:2: not UTF-8\n"


def test_clean_removes_logs_and_nothing_else(folder: Path, capsys: Captured) -> None:
    (folder / "producer" / "notes.txt").write_text("mine")
    (folder / "data").mkdir()
    (folder / "data" / "meta.properties").write_text("version=1\n")

    assert lab("clean", "--dir", str(folder)) == 0
    assert capsys.readouterr().out.count("removed ") == 2
    assert (folder / "producer" / "notes.txt").exists()
    assert (folder / "data").exists()


def test_collecting_asks_only_about_what_it_would_overwrite(folder: Path, capsys: Captured) -> None:
    assert lab("collect", "--dir", str(folder)) == 0
    (folder / "consumer" / "payload.log").write_text("t,0,4,d\n")

    assert lab("collect", "--dir", str(folder)) == 1
    assert str(folder / "producer.log") not in capsys.readouterr().err
    assert lab("collect", "--dir", str(folder), "--yes") == 0
    assert (folder / "producer.log").read_text() != ""
    assert (folder / "consumer.log").read_text() == "t,0,4,d\n"


def test_a_page_that_cannot_be_written_is_refused_before_the_run(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refusal(page: Path) -> str:
        assert lab("run", "2.2a", "--bootstrap-server", "localhost:1", "--html", str(page)) == 1
        return capsys.readouterr().err

    nowhere = tmp_path / "none" / "page.html"
    assert f"--html: there is no directory {nowhere.parent}" in refusal(nowhere)
    assert f"--html: {tmp_path} is a directory" in refusal(tmp_path)
    page = tmp_path / "page.html"
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write everywhere
    assert f"--html: {page} cannot be written" in refusal(page)
