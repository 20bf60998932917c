"""What a tool says that fails."""

from __future__ import annotations

from collections.abc import Callable

import pytest


def complaint(capsys: pytest.CaptureFixture[str], run: Callable[[], int]) -> str:
    """Status 1, one line on stderr, which is returned, and nothing else."""
    assert run() == 1
    found = capsys.readouterr()
    assert (found.out, found.err.count("\n")) == ("", 1), found
    return found.err
