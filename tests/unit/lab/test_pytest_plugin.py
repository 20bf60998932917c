"""What the fixtures leave behind: nothing."""

from __future__ import annotations

from typing import cast

import pytest

from barnabas.lab.cluster.cluster import LabCluster
from barnabas.lab.pytest_plugin import Clusters


class ClosingCluster:
    def __init__(self, failure: str = "") -> None:
        self.failure = failure
        self.was_closed = False

    def __exit__(self, *_: object) -> None:
        self.was_closed = True
        if self.failure:
            raise RuntimeError(self.failure)


def test_a_cluster_that_fails_to_end_keeps_no_other_running() -> None:
    made = [ClosingCluster(), ClosingCluster("one relay failed"), ClosingCluster()]
    clusters = Clusters()
    clusters.made = cast("list[LabCluster]", list(made))

    with pytest.raises(RuntimeError, match="one relay failed"):
        clusters.close()

    assert all(each.was_closed for each in made)
    assert not clusters.made
