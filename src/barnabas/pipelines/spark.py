"""Topics in Spark: the data source itself, sessions that know it, and the Java that they need."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.pipelines.errors import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JAVA_MIN = 17
NO_SPARK = 'Spark is not installed: pip install "barnabas[spark]"'
NO_JAVA = (
    f"Spark needs Java {JAVA_MIN} or newer, and {{found}}: on Debian or Ubuntu, apt-get install "
    "default-jre-headless; elsewhere install a JDK and set JAVA_HOME"
)
WORKERS = str(Path(__file__).with_name("workers"))
"""The folder of what Python processes of Spark begin with."""
JVM_FOLDERS = ("/usr/lib/jvm", "/opt/java", "/Library/Java/JavaVirtualMachines")


def register(session: SparkSession) -> None:
    """Makes `format("barnabas")` known to a session.  After `addPyFile`, if that is used at all."""
    from barnabas.pipelines.data_source import BarnabasDataSource

    context = getattr(session, "sparkContext", None)
    if context is not None:  # Spark Connect has none: there workers are the server's
        context.environment["PYTHONPATH"] = with_workers(context.environment.get("PYTHONPATH", ""))
    session.dataSource.register(BarnabasDataSource)


def with_workers(path: str) -> str:
    """A search path for Python processes of Spark, with what makes them start sooner."""
    entries = [entry for entry in path.split(os.pathsep) if entry not in ("", WORKERS)]
    return os.pathsep.join([*entries, WORKERS])


def start_session(
    name: str, *, master: str = "local[*]", settings: Mapping[str, str] | None = None
) -> SparkSession:
    """A session with the source and sink in it; `PipelineError` says what is missing.

    Workers run the Python of the driver, times are UTC unless `settings` say otherwise, and what
    only fills the terminal is off.
    """
    prepare()
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName(name).master(master)
    chosen = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        **(settings or {}),
    }
    for key, value in chosen.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    register(session)
    return session


def prepare() -> None:
    """Finds what Spark needs, and sets what it reads from the environment."""
    from importlib.util import find_spec

    if any(find_spec(module) is None for module in ("pyspark", "pyarrow", "numpy", "pandas")):
        raise PipelineError(NO_SPARK)
    home = find_java()
    if home is not None:
        os.environ["JAVA_HOME"] = home
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)


def find_java() -> str | None:
    """The JAVA_HOME to use; None if the `java` on the PATH is fine as it is."""
    home = os.environ.get("JAVA_HOME")
    if home:
        _check_java(Path(home) / "bin" / "java", "JAVA_HOME names none")
        return home
    if (program := shutil.which("java")) is not None:
        if (java_version(program) or 0) >= JAVA_MIN:
            return None
        found = f"the one on the PATH is {java_version(program)}"
    else:
        found = "there is none on the PATH"
    for folder in JVM_FOLDERS:
        for candidate in sorted(Path(folder).glob("*/bin/java"), reverse=True):
            if (java_version(str(candidate)) or 0) >= JAVA_MIN:
                return str(candidate.parents[1])
    raise PipelineError(NO_JAVA.format(found=found))


def _check_java(program: Path, found: str) -> None:
    version = java_version(str(program)) if program.exists() else None
    if version is None or version < JAVA_MIN:
        raise PipelineError(
            NO_JAVA.format(found=found if version is None else f"JAVA_HOME is {version}")
        )


def java_version(program: str) -> int | None:
    """The number of its release, 17 or 8 (which calls itself 1.8); None if it does not run."""
    try:
        run = subprocess.run(
            [program, "-version"], capture_output=True, text=True, check=False, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', run.stderr + run.stdout)
    return int(match[1]) if match else None
