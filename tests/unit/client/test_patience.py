from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from barnabas.client.errors import ClientError, RefusedError
from barnabas.client.patience import Patience, passes


@dataclass(slots=True)
class Time:
    now: float = 100.0
    pauses: list[float] = field(default_factory=list)

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds

    def patience(self, seconds: float) -> Patience:
        return Patience(seconds=seconds, monotonic=lambda: self.now, sleep=self.sleep)


LOADING = RefusedError("COORDINATOR_LOAD_IN_PROGRESS", "loading")


def test_what_passes_by_itself_is_tried_again_after_growing_pauses() -> None:
    time = Time()
    outcomes: list[RefusedError | str] = [LOADING] * 6 + ["done"]

    def attempt() -> str:
        outcome = outcomes.pop(0)
        if isinstance(outcome, RefusedError):
            raise outcome
        return outcome

    assert time.patience(30).until_settled(attempt) == "done"
    assert time.pauses == [0.05, 0.1, 0.2, 0.4, 0.5, 0.5]


def test_after_the_deadline_the_refusal_is_the_answer() -> None:
    time = Time()

    def attempt() -> None:
        raise LOADING

    with pytest.raises(RefusedError, match="loading"):
        time.patience(1).until_settled(attempt)
    assert 100 < time.now < 101


def test_another_refusal_is_the_answer_at_once() -> None:
    time = Time()

    def attempt() -> None:
        raise RefusedError("GROUP_ID_NOT_FOUND", "none")

    with pytest.raises(RefusedError, match="none"):
        time.patience(30).until_settled(attempt)
    assert time.pauses == []


def test_only_refusals_pass() -> None:
    assert passes(LOADING)
    assert not passes(ClientError("NOT_COORDINATOR"))
    assert not passes(None)
