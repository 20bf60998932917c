"""What the figures were measured on and with."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from importlib.metadata import version
from pathlib import Path

from harness.maven import kafka_version, need
from programs import librdkafka_version


def cpu_model() -> str:
    found = re.search(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text())
    return found[1].strip() if found else platform.machine()


def memory_gib() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def java_version() -> str:
    run = subprocess.run([need("java"), "-version"], capture_output=True, text=True, check=True)
    return run.stderr.splitlines()[0].replace('"', "")


def file_system(folder: Path) -> str:
    """The type of the file system that the data is on."""
    run = subprocess.run(
        ["stat", "-f", "-c", "%T", str(folder)], capture_output=True, text=True, check=True
    )
    return run.stdout.strip()


def description(folder: Path) -> dict[str, str]:
    return {
        "Machine": f"{os.cpu_count()} cores ({cpu_model()}), {memory_gib():.0f} GiB, "
        f"Linux {platform.release()}, {file_system(folder)}",
        "Barnabas": f"{version('barnabas')}, Python {platform.python_version()}, "
        f"uvloop {version('uvloop')}, default settings",
        "Apache Kafka": f"{kafka_version()}, {java_version()}, KRaft, one node in both roles, "
        "default settings, heap 1 GB and collector flags as its start script sets them",
        "Clients": f"Java {kafka_version()} (ProducerPerformance; an assigning consumer), "
        f"{librdkafka_version()}",
    }
