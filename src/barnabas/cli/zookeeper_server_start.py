"""`zookeeper-server-start`: the distribution's ZooKeeper, from a properties file.

ZooKeeper is not part of Barnabas and is not installed behind anybody's back: where it is missing,
this says what to install.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path

from barnabas.cli.command import Command, CommandError
from barnabas.cli.options import Option, Parsed, UsageError

LOG_NAME = "zookeeper.out"
MAIN = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
READY = "binding to port"
"""ZooKeeper logs this when clients may come.  A member of an ensemble serves them when most of the
others are there too, which may be long after it was started."""
DISTRIBUTION = Path("/usr/share/java")
HEAP = "-Xmx512M -Xms512M"
LOGGING = (
    "-Dorg.slf4j.simpleLogger.logFile=System.out",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd HH:mm:ss,SSS",
    "-Dorg.slf4j.simpleLogger.showShortLogName=true",
)
INSTALL = 'on Debian or Ubuntu, "apt-get install zookeeper" installs it'


def run(args: Parsed) -> int:
    if not args.words:
        raise UsageError("which properties file? It is the first argument")
    file = args.words[0]
    if not os.access(file, os.R_OK):
        raise UsageError(f"cannot read {file}")
    command = java_command(os.environ, file)
    if not args.has("daemon"):
        return _become(command)
    from barnabas.cli.background import run_in_background

    return run_in_background("ZooKeeper", LOG_NAME, ready=READY, serve=lambda: _become(command))


def java_command(environment: Mapping[str, str], file: str) -> list[str]:
    """What starts ZooKeeper; `CommandError` if there is no ZooKeeper or no Java."""
    home = environment.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None or not os.access(java, os.X_OK):
        raise CommandError(f"there is no Java, which ZooKeeper needs: {INSTALL}")
    return [
        java,
        *shlex.split(environment.get("KAFKA_HEAP_OPTS", HEAP)),
        "-Dzookeeper.admin.enableServer=false",
        *LOGGING,
        *shlex.split(environment.get("KAFKA_OPTS", "")),
        "-cp",
        ":".join(_jars(environment)),
        MAIN,
        file,
    ]


def _jars(environment: Mapping[str, str]) -> list[str]:
    """A ZooKeeper in $ZOOKEEPER_HOME, unpacked as it is downloaded, or the distribution's."""
    home = environment.get("ZOOKEEPER_HOME")
    if home:
        if not list(Path(home).glob("lib/zookeeper-*.jar")):
            raise CommandError(f"there is no ZooKeeper in ZOOKEEPER_HOME, {home}")
        return [f"{home}/conf", f"{home}/lib/*"]
    jar = DISTRIBUTION / "zookeeper.jar"
    if not jar.exists():
        raise CommandError(f"ZooKeeper is not installed: {INSTALL}, or set ZOOKEEPER_HOME")
    return [str(jar), str(DISTRIBUTION / "slf4j-simple.jar")]


def _become(command: list[str]) -> int:
    """This process goes on as ZooKeeper: signals and the exit status are its own."""
    try:
        os.execv(command[0], command)
    except OSError as error:
        raise CommandError(f"cannot run {command[0]}: {error.strerror}") from None


COMMAND = Command(
    summary="Start the ZooKeeper that is installed here; Ctrl-C or SIGTERM stops it.",
    examples=("zookeeper.properties", "-daemon zookeeper.properties"),
    options=(
        Option(
            name="daemon",
            help=f"Start in the background, with output in $LOG_DIR/{LOG_NAME} "
            f"(LOG_DIR: ./logs if not set).",
        ),
    ),
    words=(0, 1),
    words_are="files",
    notes=(
        "The properties file is ZooKeeper's own; dataDir and clientPort are enough.",
        "KAFKA_HEAP_OPTS and KAFKA_OPTS are given to Java; the heap is 512 MB if not set.",
    ),
    run=run,
)
