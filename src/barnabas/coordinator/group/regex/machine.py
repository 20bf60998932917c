"""Runs a pattern: all ways through it at once, so that no name takes longer than its length."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from barnabas.coordinator.group.regex.nodes import (
    WORD,
    Begin,
    Boundary,
    Chars,
    Either,
    Empty,
    End,
    Node,
    Repeat,
    Sequence,
)

MAX_STATES = 20_000
"""Patterns that would need more are refused."""
_CACHED = 4_000

Test: TypeAlias = Begin | End | Boundary


class TooExpensiveError(ValueError):
    """A pattern with huge or nested repetitions."""


class _State:
    """Where a match can be: before a character, before a test, or before other states."""

    __slots__ = ("chars", "free", "test", "to")

    def __init__(self) -> None:
        self.chars: frozenset[str] | None = None
        self.test: Test | None = None
        self.to: _State | None = None
        """Where `chars` or `test` leads."""
        self.free: list[_State] = []
        """Where nothing leads."""


class _Node:
    """A set of states that was met, and where each character leads from there."""

    __slots__ = ("accepts", "next", "states")

    def __init__(self, states: frozenset[_State]) -> None:
        self.states = states
        """Before what is reached without a character."""
        self.next: dict[tuple[str, _Place] | str, _Node] = {}
        self.accepts: dict[_Place, bool] = {}


class Pattern:
    """A compiled pattern.  Sets of states that were met are remembered, up to a bound."""

    def __init__(self, node: Node) -> None:
        self.work = 0
        """Grows with each state that is looked at: what matching has cost so far."""
        self._count = 0
        self._bounded = False
        """Some test asks what stands on both sides of it."""
        self._accept = self._state()
        self._start = _Node(frozenset((self._build(node, self._accept),)))
        self._nodes = {self._start.states: self._start}

    def matches(self, name: str) -> bool:
        """Whether the whole of `name` matches."""
        node = self._start
        for position, char in enumerate(name):
            if position and not self._bounded:
                following = node.next.get(char)
                if following is not None:
                    node = following
                    continue
            node = self._advance(node, char, _place(name, position))
            if not node.states:
                return False
        self.work += len(name)
        place = _place(name, len(name))
        accepts = node.accepts.get(place)
        if accepts is None:
            accepts = node.accepts[place] = self._accept in self._closure(node.states, place)
        return accepts

    def _advance(self, node: _Node, char: str, place: _Place) -> _Node:
        key = char if not (place.at_begin or self._bounded) else (char, place)
        following = node.next.get(key)
        if following is None:
            live = self._closure(node.states, place)
            states = frozenset(
                state.to
                for state in live
                if state.chars is not None and char in state.chars and state.to is not None
            )
            following = self._nodes.get(states)
            if following is None:
                following = _Node(states)
                if len(self._nodes) < _CACHED:
                    self._nodes[states] = following
            if node.states in self._nodes:
                node.next[key] = following
        return following

    def _closure(self, states: frozenset[_State], place: _Place) -> set[_State]:
        """All states that are reached at `place` without taking a character."""
        seen = set(states)
        todo = list(states)
        while todo:
            state = todo.pop()
            reached = state.free
            if state.test is not None and state.to is not None and _holds(state.test, place):
                reached = [state.to]
            for each in reached:
                if each not in seen:
                    seen.add(each)
                    todo.append(each)
        self.work += len(seen)
        return seen

    # Building: each part is made so that it leads to what comes after it

    def _state(self) -> _State:
        self._count += 1
        if self._count > MAX_STATES:
            raise TooExpensiveError
        return _State()

    def _build(self, node: Node, after: _State) -> _State:
        match node:
            case Empty():
                return after
            case Chars():
                state = self._state()
                state.chars, state.to = node.members, after
                return state
            case Begin() | End() | Boundary():
                state = self._state()
                state.test, state.to = node, after
                self._bounded = self._bounded or isinstance(node, Boundary)
                return state
            case Sequence():
                for item in reversed(node.items):
                    after = self._build(item, after)
                return after
            case Either():
                state = self._state()
                state.free = [self._build(item, after) for item in node.items]
                return state
            case Repeat():
                return self._repeat(node, after)

    def _repeat(self, node: Repeat, after: _State) -> _State:
        entry = after
        if node.most is None:
            entry = self._state()
            entry.free = [after]
            entry.free.append(self._build(node.item, entry))
        else:
            for _ in range(node.most - node.least):
                optional = self._state()
                optional.free = [after, self._build(node.item, entry)]
                entry = optional
        for _ in range(node.least):
            entry = self._build(node.item, entry)
        return entry


class _Place(NamedTuple):
    """What tests can ask about a position."""

    at_begin: bool
    at_end: bool
    after_word: bool
    before_word: bool


def _place(name: str, position: int) -> _Place:
    return _Place(
        position == 0,
        position == len(name),
        position > 0 and name[position - 1] in WORD,
        position < len(name) and name[position] in WORD,
    )


def _holds(test: Test, place: _Place) -> bool:
    match test:
        case Begin():
            return place.at_begin
        case End():
            return place.at_end
        case Boundary():
            return (place.after_word != place.before_word) != test.negated
