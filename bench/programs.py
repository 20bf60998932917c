"""The load programs: compiled when first needed, run as processes of their own, answers as JSON.

The C programs need librdkafka's headers (Debian: librdkafka-dev). Without them a slower client in
Python (confluent-kafka) stands in, and the report says so.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from harness.maven import classpath, compiled, digest, lock, need
from harness.paths import CACHE, CONFORMANCE

BENCH = Path(__file__).resolve().parent
CLIENT_JVM = ("-Xmx512M", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20")
CLIENT_SECONDS = 180
SENT = re.compile(r"^(\d+) records sent, ([\d.]+) records/sec", re.MULTILINE)


class ClientFailedError(Exception):
    """A load program did not do all of its work."""


def compile_c(name: str, *libraries: str) -> Path | None:
    """The program made from `c/<name>.c`, or None when a library is not installed."""
    source = BENCH / "c" / f"{name}.c"
    flags = ["-O2", "-o"]
    with lock("cc"):
        target = CACHE / f"{name}-{digest(source.read_bytes())}"
        if not target.exists():
            extra = os.environ.get("BENCH_CFLAGS", "").split()
            command = [need("cc"), str(source), *extra, *flags, str(target)]
            run = subprocess.run(
                [*command, *(f"-l{library}" for library in libraries)],
                capture_output=True,
                text=True,
                check=False,
            )
            if run.returncode:
                if "librdkafka/rdkafka.h: No such file" in run.stderr:
                    return None
                raise RuntimeError(f"cc failed for {name}:\n{run.stderr}")
    return target


@cache
def rdclient() -> list[str]:
    """The command of the librdkafka client: C, or the stand-in in Python."""
    program = compile_c("rdclient", "rdkafka", "pthread")
    if program is None:
        return [sys.executable, str(BENCH / "pyclient.py")]
    return [str(program)]


def rdclient_is_c() -> bool:
    return not rdclient()[0].endswith("python")


@cache
def replay_program() -> Path:
    program = compile_c("replay")
    assert program is not None
    return program


def run_json(command: Sequence[str]) -> dict[str, Any]:
    """Run a load program to its end; its last line is its answer."""
    run = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=CLIENT_SECONDS
    )
    if run.returncode or not run.stdout.strip():
        raise ClientFailedError(f"{Path(command[0]).name}: {run.stdout[-500:]}{run.stderr[-1500:]}")
    answer: dict[str, Any] = json.loads(run.stdout.strip().splitlines()[-1])
    return answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """So many records of one size for a topic, with settings of the client."""

    topic: str
    count: int
    size: int
    settings: tuple[str, ...] = ()

    @property
    def gigabytes(self) -> float:
        return self.count * self.size / 1e9


def librdkafka(mode: str, bootstrap: str, load: Load) -> dict[str, Any]:
    """`mode` is produce, consume or latency."""
    sizes = [str(load.count), str(load.size)]
    return run_json([*rdclient(), mode, bootstrap, load.topic, *sizes, *load.settings])


def java(main: str, *arguments: str, classes: Path | None = None) -> list[str]:
    logging = CONFORMANCE / "java" / "log4j2.properties"
    jars = f"{classes}:{classpath()}" if classes else classpath()
    command = [need("java"), *CLIENT_JVM, f"-Dlog4j2.configurationFile={logging}"]
    return [*command, "-cp", jars, main, *arguments]


def java_produce(bootstrap: str, load: Load) -> float:
    """Kafka's ProducerPerformance; MB (10^6 bytes) a second."""
    arguments = ["--topic", load.topic, "--num-records", str(load.count), "--throughput", "-1"]
    arguments += ["--record-size", str(load.size), "--bootstrap-server", bootstrap]
    if load.settings:
        arguments += ["--command-property", *load.settings]
    command = java("org.apache.kafka.tools.ProducerPerformance", *arguments)
    run = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=CLIENT_SECONDS
    )
    found = SENT.findall(run.stdout)
    if run.returncode or not found or int(found[-1][0]) != load.count:
        raise ClientFailedError(f"ProducerPerformance: {run.stdout[-500:]}{run.stderr[-1500:]}")
    return float(found[-1][1]) * load.size / 1e6


def java_consume(bootstrap: str, load: Load) -> float:
    """Kafka's Java consumer without a group; MB a second."""
    classes = compiled(BENCH / "java")
    arguments = [bootstrap, load.topic, str(load.count), *load.settings]
    answer = run_json(java("ConsumeBench", *arguments, classes=classes))
    return float(answer["mb_per_s"])


def librdkafka_version() -> str:
    if not rdclient_is_c():
        import confluent_kafka

        return f"librdkafka {confluent_kafka.libversion()[0]} through confluent-kafka (Python)"
    return f"librdkafka {run_json([*rdclient(), 'version'])['version']} (C)"
