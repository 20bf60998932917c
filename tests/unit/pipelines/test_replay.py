"""Names that cannot be meant are noticed before anything is written."""

from __future__ import annotations

import pytest

from barnabas.pipelines.definition import Replay
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.replay import check_names

KNOWN = ("orders", "payments", "trucks")


def asked(*topics: str, **renamed: str) -> Replay:
    return Replay(lake="lake", checkpoint="state", topic=topics, rename=renamed)


def test_topics_of_the_lake_may_be_chosen_and_renamed() -> None:
    check_names(asked(), KNOWN)
    check_names(asked("orders", "trucks", trucks="lorries"), KNOWN)
    check_names(asked(payments="paid"), KNOWN)


@pytest.mark.parametrize(
    ("definition", "said"),
    [
        (
            asked("orders", "trcks", "x"),
            "--topic: trcks, x not in lake, which has orders, payments, trucks",
        ),
        (asked(truck="t"), "--rename: truck not in lake, which has orders, payments, trucks"),
        (asked("orders", trucks="t"), "--rename: trucks is left out by --topic"),
    ],
)
def test_a_topic_that_cannot_be_meant_is_an_error(definition: Replay, said: str) -> None:
    with pytest.raises(PipelineError) as caught:
        check_names(definition, KNOWN)

    assert str(caught.value) == said


def test_of_many_topics_those_are_listed_that_are_most_like_it() -> None:
    known = [*(f"eu-{number}" for number in range(500)), "trucks"]

    with pytest.raises(PipelineError, match=r"trcks not in lake, which has 501 topics: trucks, "):
        check_names(asked("trcks"), known)
