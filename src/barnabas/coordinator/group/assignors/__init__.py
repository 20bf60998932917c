"""How partitions are shared out among the members of a consumer group."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from barnabas.coordinator.group.assignors.model import Assignment, Spec
from barnabas.coordinator.group.assignors.range import assign_range
from barnabas.coordinator.group.assignors.uniform import assign_uniform

Assignor: TypeAlias = Callable[[Spec], Assignment]

ASSIGNORS: Mapping[str, Assignor] = {"uniform": assign_uniform, "range": assign_range}
"""By the names that settings and members use."""
