"""What the tests of short ways share."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.broker.net.memo import Memo


@pytest.fixture
def short_ways(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each request that a memo was asked for went the short way."""
    taken: list[bool] = []
    handle = Memo.handle

    def noted(memo: Memo, connection: Any, frame: memoryview) -> bool:
        taken.append(handle(memo, connection, frame))
        return taken[-1]

    monkeypatch.setattr(Memo, "handle", noted)
    return taken
