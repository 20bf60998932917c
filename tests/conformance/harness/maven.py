"""Apache Kafka's jars, by Maven, and our own Java sources compiled against them.

Both are kept in the cache folder of the checkout under a key made of their inputs, so that only the
first run (or the first after a change) pays. Needs `mvn` and `javac` on the PATH, nothing else.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

from harness.paths import CACHE, CONFORMANCE

POM = CONFORMANCE / "java" / "pom.xml"
SPARK_POM = CONFORMANCE / "java" / "spark" / "pom.xml"


class MissingToolError(Exception):
    """Something that the package manager of the machine has to install."""


def need(program: str) -> str:
    """Full path of a program, or one clear line."""
    path = shutil.which(program)
    if path is None:
        raise MissingToolError(f"`{program}` is not installed; `make conformance` installs it")
    return path


@contextmanager
def lock(name: str) -> Iterator[None]:
    """One process at a time fills the cache (pytest workers start together)."""
    CACHE.mkdir(exist_ok=True)
    with (CACHE / f"{name}.lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def digest(*contents: bytes) -> str:
    joined = hashlib.sha256()
    for content in contents:
        joined.update(hashlib.sha256(content).digest())
    return joined.hexdigest()[:16]


@cache
def kafka_version() -> str:
    """The version of Apache Kafka that the pom names."""
    space = "{http://maven.apache.org/POM/4.0.0}"
    version = ElementTree.parse(POM).getroot().findtext(f"{space}properties/{space}kafka.version")
    assert version is not None
    return version


@cache
def classpath() -> str:
    """Everything that Apache Kafka's broker, tools and clients need, as one `-cp` argument."""
    return _jars_of(POM)


@cache
def spark_connector() -> list[str]:
    """The jars of Spark's own Kafka connector."""
    return _jars_of(SPARK_POM).split(":")


def _jars_of(pom: Path) -> str:
    with lock("maven"):
        kept = CACHE / f"classpath-{digest(pom.read_bytes())}.txt"
        if kept.exists() and all(map(os.path.exists, kept.read_text().split(":"))):
            return kept.read_text()
        fresh = kept.with_suffix(".new")
        command = [need("mvn"), "-q", "-B", "-f", str(pom), "dependency:build-classpath"]
        run = subprocess.run(
            [*command, f"-Dmdep.outputFile={fresh}"], capture_output=True, text=True, check=False
        )
        if run.returncode:
            raise RuntimeError(f"mvn failed:\n{run.stdout[-3000:]}{run.stderr[-3000:]}")
        fresh.rename(kept)
        return kept.read_text()


def compiled(folder: Path) -> Path:
    """The class files of all Java sources in a folder."""
    sources: Sequence[Path] = sorted(folder.glob("*.java"))
    jars = classpath()
    with lock("javac"):
        key = digest(jars.encode(), *(source.read_bytes() for source in sources))
        target = CACHE / f"classes-{key}"
        if not target.exists():
            fresh = target.with_suffix(".new")
            shutil.rmtree(fresh, ignore_errors=True)
            command = [need("javac"), "-nowarn", "-proc:none", "-cp", jars, "-d", str(fresh)]
            run = subprocess.run(
                [*command, *map(str, sources)], capture_output=True, text=True, check=False
            )
            if run.returncode:
                raise RuntimeError(f"javac failed:\n{run.stderr}")
            fresh.rename(target)
        return target
