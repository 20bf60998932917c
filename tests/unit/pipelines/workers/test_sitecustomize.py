"""Python processes of Spark import PySpark from its package, and else find what they would."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from barnabas.pipelines.spark import WORKERS
from barnabas.pipelines.workers.sitecustomize import without_copies


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """Where a PySpark is installed; in its zip is another one."""
    site = tmp_path / "site"
    folder = site / "pyspark" / "python" / "lib"
    folder.mkdir(parents=True)
    (site / "pyspark" / "__init__.py").write_text("origin = 'package'\n")
    for name, package in (("pyspark.zip", "pyspark"), ("py4j-0.10.9.9-src.zip", "py4j")):
        with zipfile.ZipFile(folder / name, "w") as archive:
            archive.writestr(f"{package}/__init__.py", "origin = 'zip'\n")
    return site


def zips(site: Path) -> list[str]:
    folder = site / "pyspark" / "python" / "lib"
    return [str(folder / "pyspark.zip"), str(folder / "py4j-0.10.9.9-src.zip")]


def started(path: list[str], code: str) -> object:
    """What a Python process says that Spark starts with this path."""
    done = subprocess.run(
        [sys.executable, "-c", f"import json, sys; {code}"],
        env={"PYTHONPATH": os.pathsep.join(path)},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stderr == ""
    return json.loads(done.stdout)


def test_pyspark_is_imported_from_its_package(installed: Path) -> None:
    path = [*zips(installed), WORKERS, str(installed)]

    assert started(path, "import pyspark; print(json.dumps(pyspark.origin))") == "package"
    assert WORKERS not in str(started(path, "print(json.dumps(sys.path))"))


def test_an_environment_can_be_known_by_another_name(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(installed)

    assert without_copies([*zips(installed), str(tmp_path / "link")])[1:] == [
        str(tmp_path / "link")
    ]


def test_a_zip_of_a_package_that_is_not_installed_stays(installed: Path) -> None:
    path = [*zips(installed), WORKERS, str(installed)]

    assert started(path, "import py4j; print(json.dumps(py4j.origin))") == "zip"


def test_the_zip_of_another_spark_stays(installed: Path) -> None:
    """It may be of another version than the PySpark beside it."""
    elsewhere = [entry.replace("/site/", "/opt/") for entry in zips(installed)]

    assert without_copies([*elsewhere, str(installed)]) == [*elsewhere, str(installed)]
    assert without_copies(zips(installed)) == zips(installed), "its package is not on the path"


def test_another_module_of_its_name_is_run_too(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.marked = 1\n")

    path = [*zips(installed), WORKERS, str(tmp_path), str(installed)]
    assert started(path, "print(json.dumps(sys.marked))") == 1
    assert started([*path, WORKERS], "import pyspark; print(json.dumps(pyspark.origin))")
