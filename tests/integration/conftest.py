"""One broker for all tests of a worker, a fresh topic name for each test."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator

import pytest
from barnabas_process import BarnabasProcess

_numbers = itertools.count()


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BarnabasProcess]:
    with BarnabasProcess(tmp_path_factory.mktemp("broker")) as process:
        yield process


@pytest.fixture
def topic_name() -> Callable[[], str]:
    return lambda: f"t{os.getpid()}-{next(_numbers)}"
