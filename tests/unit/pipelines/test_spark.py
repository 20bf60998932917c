"""Java is found, or what to install is said in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.pipelines import spark
from barnabas.pipelines.errors import PipelineError


def fake_java(folder: Path, version: str) -> Path:
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-01-01' >&2\n")
    program.chmod(0o755)
    return program


@pytest.fixture(autouse=True)
def nothing_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path" / "bin"))
    monkeypatch.setattr(spark, "JVM_FOLDERS", (str(tmp_path / "jvm"),))


@pytest.mark.parametrize(("version", "number"), [("17.0.15", 17), ("21", 21), ("1.8.0_402", 8)])
def test_versions_of_java(tmp_path: Path, version: str, number: int) -> None:
    assert spark.java_version(str(fake_java(tmp_path, version))) == number


def test_no_java_says_what_to_install() -> None:
    with pytest.raises(PipelineError) as caught:
        spark.find_java()

    assert "apt-get install" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_java_of_the_path_is_used_as_it_is(tmp_path: Path) -> None:
    fake_java(tmp_path / "path", "17.0.1")

    assert spark.find_java() is None


def test_an_old_java_is_passed_over_for_a_newer_one(tmp_path: Path) -> None:
    fake_java(tmp_path / "path", "1.8.0_402")
    with pytest.raises(PipelineError, match="the one on the PATH is 8"):
        spark.find_java()

    fake_java(tmp_path / "jvm" / "java-21", "21.0.2")

    assert spark.find_java() == str(tmp_path / "jvm" / "java-21")


def test_java_home_must_be_right(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    with pytest.raises(PipelineError, match="JAVA_HOME names none"):
        spark.find_java()

    fake_java(tmp_path / "home", "11.0.2")
    with pytest.raises(PipelineError, match="JAVA_HOME is 11"):
        spark.find_java()
