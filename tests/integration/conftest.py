"""One broker, and one Spark, for all tests of a worker; a fresh topic name for each test."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from barnabas_process import BarnabasProcess

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_numbers = itertools.count()


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BarnabasProcess]:
    with BarnabasProcess(tmp_path_factory.mktemp("broker")) as process:
        yield process


@pytest.fixture(scope="session")
def properties(broker: BarnabasProcess) -> dict[str, str]:
    """What a client needs to reach the broker."""
    return {"bootstrap.servers": broker.bootstrap}


@pytest.fixture
def topic_name() -> Callable[[], str]:
    return lambda: f"t{os.getpid()}-{next(_numbers)}"


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Starts when it is first asked for, which takes some seconds."""
    from spark_here import session

    made = session()
    yield made
    made.stop()
