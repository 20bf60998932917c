"""A disk of a few megabytes that really fills up: a tmpfs in a mount namespace of its own.

Nobody else sees it, and it is gone with the processes that use it.
"""

from __future__ import annotations

import os
import subprocess
from functools import lru_cache
from pathlib import Path
from types import TracebackType


def _namespace() -> tuple[str, ...]:
    """Root needs a mount namespace only, others become root in a user namespace first."""
    return ("unshare", "--mount") if os.geteuid() == 0 else ("unshare", "-r", "--mount")


@lru_cache(maxsize=1)
def why_not() -> str:
    """Why this machine does not allow such a disk; empty if it does."""
    script = "mount -t tmpfs -o size=64k none /mnt"
    try:
        tried = subprocess.run(
            [*_namespace(), "sh", "-c", script], capture_output=True, text=True, check=False
        )
    except OSError as error:
        return str(error)
    return tried.stderr.strip()


class TinyDisk:
    """Mounted at `path` for `wrapper`'s commands.  A context manager."""

    def __init__(self, path: Path, *, kib: int) -> None:
        path.mkdir()
        self.path = path
        self._holder = subprocess.Popen(
            [
                *(*_namespace(), "sh", "-c"),
                f'mount -t tmpfs -o size={kib}k none "$0" && echo ready && exec cat',
                str(path),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def __enter__(self) -> TinyDisk:
        assert self._holder.stdout is not None
        assert self._holder.stdout.readline() == b"ready\n", "the disk could not be mounted"
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._holder.communicate(timeout=30)  # its end of input

    @property
    def wrapper(self) -> tuple[str, ...]:
        """What to put before a command that is to see the disk."""
        enter = ("nsenter", "--target", str(self._holder.pid), "--mount")
        return enter if os.geteuid() == 0 else (*enter, "--user", "--preserve-credentials")

    @property
    def seen_from_here(self) -> Path:
        """The same directory for a process outside."""
        return Path(f"/proc/{self._holder.pid}/root{self.path}")
