"""A decision while it is being made."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from barnabas.coordinator.runtime_types import Answer, CoordinatorRecord, Decision, Ticket


@dataclass(slots=True)
class Outcome:
    """Collects what a request or a timer leads to."""

    records: list[CoordinatorRecord] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)

    def answer(self, ticket: Ticket | None, reply: Any) -> None:
        """Answer a request that waits, if one does."""
        if ticket is not None:
            self.answers.append(Answer(ticket, reply))

    def decision(self, reply: Any = None) -> Decision:
        return Decision(records=tuple(self.records), reply=reply, answers=tuple(self.answers))
