"""What happens to a group in these tests: each script drives a crowd and ends with its group whole.

The order of things comes from the crowd's seed; the ledger judges every line meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from group_crowd import Crowd

DOOMED_SESSION_MS = 4_000
"""For members that will crash: the others wait that long.  Needs a broker that allows it."""


def coming_and_going(crowd: Crowd, libraries: Sequence[str], **orders: Any) -> None:
    """Of each library the first member crashes, the second leaves in order, the third stays.

    Two libraries at a time, so that the group is never left alone with a single one.
    """
    first = {
        library: crowd.start(library, session_ms=DOOMED_SESSION_MS, **orders)
        for library in libraries
    }
    crowd.settle()
    order = crowd.random.sample(libraries, len(libraries))
    waves = [order[at : at + 2] for at in range(0, len(order), 2)]
    second: dict[str, str] = {}
    for crashing, leaving in zip([*waves, []], [[], *waves], strict=True):
        steps: list[Callable[[], object]] = []
        for library in crashing:
            steps.append(partial(crowd.kill, first[library]))
            second[library] = crowd.start(library, **orders)
        for library in leaving:
            steps.append(partial(crowd.leave, second[library]))
            steps.append(partial(crowd.start, library, **orders))
        crowd.random.shuffle(steps)
        for step in steps:
            step()
            if crowd.random.random() < 0.2:
                crowd.settle()
        crowd.settle()


def static_restart(crowd: Crowd, library: str, *, crash: bool, **orders: Any) -> str:
    """A static member ends and comes back: it has its partitions again, no one else noticed.

    Needs a settled group with at least one other member.  Returns the name of the member.
    """
    instance = f"{library}-at-home"
    old = crowd.start(library, instance=instance, **orders)
    crowd.settle()
    before = _rebalances(crowd, old)
    held, generation = set(crowd.member(old).holds), crowd.member(old).generation
    if crash:
        crowd.kill(old)
    else:
        crowd.leave(old)
    new = crowd.start(library, instance=instance, **orders)
    crowd.settle()
    returned, others = crowd.member(new), _rebalances(crowd, new)
    assert returned.holds == held, f"{new} had {held} and got {returned.holds}"
    assert others == before, f"the others had {before}, and then {others}"
    assert returned.generation == generation, (returned.generation, generation)
    return new


def _rebalances(crowd: Crowd, but: str) -> dict[str, tuple[int, set[tuple[str, int]]]]:
    """How often the others were given partitions, and which they have."""
    return {
        name: (member.assignments, set(member.holds))
        for name, member in crowd.look().live.items()
        if name != but
    }


FENCED = {"FencedInstanceIdException", "FencedInstanceIdError", "fenced"}
UNRELEASED = {"UnreleasedInstanceIdException", "still"}
"""What the libraries say; librdkafka says it in a sentence."""


def _words(crowd: Crowd, name: str) -> list[str]:
    return [word for error in crowd.member(name).errors for word in error.split()]


def newer_of_two_instances_stays(crowd: Crowd, old: str, library: str, **orders: Any) -> str:
    """Classic protocol: a second member with the same instance id takes the place of the first."""
    new = crowd.start(library, instance=crowd.member(old).instance, **orders)
    crowd.wait(lambda ledger: not ledger.members[old].is_live, f"the end of {old}")
    crowd.settle()
    assert FENCED & set(_words(crowd, old)), crowd.member(old).errors
    return new


def older_of_two_instances_stays(crowd: Crowd, old: str, library: str, **orders: Any) -> None:
    """Newer protocol: an instance id that is in use is refused to a second member."""
    new = crowd.start(library, instance=crowd.member(old).instance, **orders)
    crowd.wait(lambda ledger: not ledger.members[new].is_live, f"the end of {new}")
    crowd.settle()
    assert UNRELEASED & set(_words(crowd, new)), crowd.member(new).errors
    assert crowd.member(old).is_live


def only_what_moves_is_given_up(crowd: Crowd, library: str, **orders: Any) -> str:
    """A newcomer to a cooperative group: the others keep all that does not go to it."""
    before = {name: set(member.holds) for name, member in crowd.look().live.items()}
    given = {name: member.given_up for name, member in crowd.look().live.items()}
    new = crowd.start(library, **orders)
    crowd.settle()
    taken = crowd.member(new).holds
    for name, held in before.items():
        now = crowd.member(name)
        assert now.holds == held - taken, f"{name} had {held}, lost {taken}, has {now.holds}"
        assert now.given_up - given[name] == len(held & taken), f"{name} gave up more than {taken}"
    return new
