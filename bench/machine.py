"""What the figures were measured on and with."""

from __future__ import annotations

import mmap
import os
import platform
import re
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import median

from disturbance import QUIET
from harness.maven import kafka_version, need
from programs import librdkafka_version

WARM_BYTES_MAX = 8 << 30


def warm_memory() -> None:
    """Touch a good part of the free memory once.

    In a virtual machine the first use of a page can cost more than all that a broker does with it,
    and would be charged to whichever broker comes first.
    """
    step = 1 << 20
    found = re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text())
    available = int(found[1]) << 10 if found else 0
    size = min(available // 2, WARM_BYTES_MAX) // step * step
    page = bytes(step)
    with mmap.mmap(-1, max(size, step)) as area:
        for position in range(0, size, step):
            area[position : position + step] = page


def cpu_model() -> str:
    found = re.search(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text())
    return found[1].strip() if found else platform.machine()


def memory_gib() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def java_version() -> str:
    run = subprocess.run([need("java"), "-version"], capture_output=True, text=True, check=True)
    return run.stderr.splitlines()[0].replace('"', "")


def python() -> str:
    """Which one: those that version managers build are often slower than the distribution's."""
    whose = "the distribution's" if sys.base_prefix == "/usr" else "not the distribution's"
    return f"Python {platform.python_version()} ({whose})"


def file_system(folder: Path) -> str:
    """The type of the file system that the data is on."""
    run = subprocess.run(
        ["stat", "-f", "-c", "%T", str(folder)], capture_output=True, text=True, check=True
    )
    return run.stdout.strip()


def description(folder: Path, disturbed: Sequence[float], repeated: int) -> dict[str, str]:
    return {
        "Machine": f"{os.cpu_count()} cores ({cpu_model()}), {memory_gib():.0f} GiB, "
        f"Linux {platform.release()}, {file_system(folder)}",
        "Barnabas": f"{version('barnabas')}, {python()}, "
        f"uvloop {version('uvloop')}, default settings",
        "Apache Kafka": f"{kafka_version()}, {java_version()}, KRaft, one node in both roles, "
        "default settings, heap 1 GB and collector flags as its start script sets them",
        "Clients": f"Java {kafka_version()} (ProducerPerformance; an assigning consumer), "
        f"{librdkafka_version()}",
        "Other load": f"median {median(disturbed):.0%}, at most {max(disturbed):.0%} of the CPU "
        f"during a measurement; {repeated} repeated because others used more than {QUIET:.0%}",
    }
