"""What the members of a group wrote down, checked line by line against what a group promises.

All members append to one file (`O_APPEND`, one write a line), so the order of its lines is an order
in which things happened: what a member writes before it gives a partition up stands before what the
next owner writes after it got it.  The promises, for every partition:

- one owner at a time, and no owner without a newer generation than the one before;
- an owner starts exactly where its predecessor committed, and goes on without a gap;
- who gives up in order has committed all it read: only a crash makes records come twice;
- within a generation a record is read by one member only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

Line = dict[str, Any]
Part = tuple[str, int]

LAST_WORDS = frozenset({"committed", "refused", "error", "killed", "ended"})
"""What is read of a member that another has replaced."""


@dataclass(slots=True)
class MemberState:
    """One member as its lines show it."""

    instance: str | None = None
    generation: int = -1
    holds: set[Part] = field(default_factory=set)
    next_offsets: dict[Part, int] = field(default_factory=dict)
    """Of what it holds and has read from."""
    assignments: int = 0
    """How often it was given partitions."""
    given_up: int = 0
    """How many partitions it gave back in order, all told."""
    last_read: int = -1
    """The number of the line with the last records that it read."""
    is_live: bool = True
    is_replaced: bool = False
    """Another with its instance id has its place: what it reads until it notices does not count."""
    losses: int = 0
    """How often it was thrown out of the group."""
    errors: list[str] = field(default_factory=list)


@dataclass(slots=True)
class PartState:
    """One partition as the lines of all members show it."""

    owner: str | None = None
    last_owner: str | None = None
    last_generation: int = -1
    """Of the last owner, when it got the partition."""
    committed: int = 0
    in_doubt: set[int] = field(default_factory=set)
    """Commits that were sent and not answered when the sender died: they count, or not."""
    seen_to: int = 0
    is_after_crash: bool = False
    read_in: dict[int, dict[int, str]] = field(default_factory=lambda: defaultdict(dict))
    """By generation and offset, the reader."""


class Ledger:
    """Takes lines one by one; `faults` says in words what was broken."""

    def __init__(self) -> None:
        self.members: dict[str, MemberState] = {}
        self.parts: dict[Part, PartState] = defaultdict(PartState)
        self.faults: list[str] = []
        self.forgives_refusals = False
        """Whether the broker may refuse a last commit, as if the member had crashed."""
        self.lines = 0

    def take(self, line: Line) -> None:
        self.lines += 1
        name = line["m"]
        if line["e"] == "started":
            self.members[name] = MemberState(line["instance"])
            return
        member = self.members[name]
        member.generation = line.get("g", member.generation)
        if member.is_replaced and line["e"] not in LAST_WORDS:
            return
        match line["e"]:
            case "generation":
                pass
            case "assigned":
                self._assigned(name, member, _parts(line))
            case "records":
                self._read(name, member, (line["t"], line["p"]), line["from"], line["to"])
            case "committing":
                self._committing(name, member, line)
            case "committed":
                self._committed(name, line)
            case "refused":
                for topic, partition, offset in line["offsets"]:
                    self.parts[topic, partition].in_doubt.discard(offset)
                member.errors.append(line["error"])
            case "revoked":
                self._revoked(name, member, _parts(line))
            case "lost":
                member.losses += 1
                self._gone(member, _parts(line))
            case "error":
                member.errors.append(line["error"])
            case "killed" | "ended":
                self._gone(member, set(member.holds))
                member.is_live = False
            case other:
                self._fault(f"{name} wrote an unknown line: {other}")

    def _fault(self, text: str) -> None:
        self.faults.append(f"line {self.lines}: {text}")

    def _assigned(self, name: str, member: MemberState, parts: Iterable[Part]) -> None:
        member.assignments += 1
        self._replace(name, member)
        for part in parts:
            state = self.parts[part]
            if state.owner is not None:
                self._fault(f"{name} got {part}, which {state.owner} holds")
            if not self._may_follow(name, member, state):
                self._fault(
                    f"{name} got {part} in generation {member.generation}, which {state.last_owner}"
                    f" got in generation {state.last_generation}"
                )
            state.owner = state.last_owner = name
            state.last_generation = member.generation
            member.holds.add(part)

    def _replace(self, name: str, member: MemberState) -> None:
        """Of two static members with one instance id the newer has the place."""
        for other, older in self.members.items():
            if other == name:
                return  # those that follow were started later
            if older.instance is not None and older.instance == member.instance:
                older.is_replaced = True
                self._gone(older, set(older.holds))

    def _may_follow(self, name: str, member: MemberState, state: PartState) -> bool:
        """A new owner needs a newer generation, unless it is the same (static) member again."""
        if state.last_owner is None or state.last_generation < member.generation:
            return True
        before = self.members[state.last_owner].instance
        is_same = name == state.last_owner or (before is not None and before == member.instance)
        return is_same and state.last_generation == member.generation

    def _read(self, name: str, member: MemberState, part: Part, first: int, after: int) -> None:
        state = self.parts[part]
        if state.owner != name:
            self._fault(f"{name} read {part}, which {state.owner} holds")
        if part in member.next_offsets:
            if first != member.next_offsets[part]:
                self._fault(f"{name} jumped in {part} from {member.next_offsets[part]} to {first}")
        else:
            self._resumed(name, part, state, first)
        if first < state.seen_to and not state.is_after_crash:
            self._fault(f"{name} read {part} again from {first}, though no one had crashed")
        reader = member.instance or name  # a static member is the same one after a restart
        readers = state.read_in[member.generation]
        others = {readers.setdefault(offset, reader) for offset in range(first, after)} - {reader}
        if others:
            self._fault(f"{name} and {others} both read {part} in generation {member.generation}")
        member.next_offsets[part] = after
        member.last_read = self.lines
        state.seen_to = max(state.seen_to, after)
        if after >= state.seen_to:
            state.is_after_crash = False

    def _resumed(self, name: str, part: Part, state: PartState, first: int) -> None:
        if first in state.in_doubt:
            state.committed = first
        elif first != state.committed:
            doubt = f" (or {sorted(state.in_doubt)})" if state.in_doubt else ""
            self._fault(f"{name} began {part} at {first}, committed is {state.committed}{doubt}")
        state.in_doubt.clear()

    def _committing(self, name: str, member: MemberState, line: Line) -> None:
        for topic, partition, offset in line["offsets"]:
            part = (topic, partition)
            if offset != member.next_offsets.get(part):
                self._fault(f"{name} commits {offset} of {part}, which it has not read")
            if self.parts[part].owner == name:
                self.parts[part].in_doubt.add(offset)

    def _committed(self, name: str, line: Line) -> None:
        for topic, partition, offset in line["offsets"]:
            state = self.parts[topic, partition]
            if state.owner != name and offset not in state.in_doubt:
                self._fault(f"{name} committed {topic}-{partition}, which {state.owner} holds")
            state.committed = offset
            state.in_doubt.discard(offset)

    def _revoked(self, name: str, member: MemberState, parts: Iterable[Part]) -> None:
        for part in parts:
            state = self.parts[part]
            if state.owner != name:
                self._fault(f"{name} gave up {part}, which {state.owner} holds")
                continue
            if member.next_offsets.get(part, state.committed) != state.committed:
                if self.forgives_refusals and member.errors:
                    state.is_after_crash = True
                else:
                    self._fault(
                        f"{name} gave up {part} at {member.next_offsets[part]},"
                        f" committed is {state.committed}; it was told {member.errors[-3:]}"
                    )
            state.owner = None
            member.given_up += 1
            member.holds.discard(part)
            member.next_offsets.pop(part, None)

    def _gone(self, member: MemberState, parts: Iterable[Part]) -> None:
        """Without a word: what it had read and not committed comes again."""
        for part in parts:
            self.parts[part].owner = None
            self.parts[part].is_after_crash = True
            member.holds.discard(part)
            member.next_offsets.pop(part, None)

    @property
    def live(self) -> dict[str, MemberState]:
        return {name: member for name, member in self.members.items() if member.is_live}

    def is_settled(self, wanted: Iterable[Part]) -> bool:
        """Everyone is in one generation and holds something, and together they hold all."""
        live = self.live.values()
        held = [part for member in live for part in member.holds]
        return (
            sorted(held) == sorted(wanted)
            and all(member.holds for member in live)
            and len({member.generation for member in live}) == 1
        )

    def unread(self, ends: dict[Part, int]) -> dict[Part, tuple[int, int, int]]:
        """Partitions that were not read, or not committed, to their end: (read, committed, end)."""
        return {
            part: (self.parts[part].seen_to, self.parts[part].committed, end)
            for part, end in ends.items()
            if (self.parts[part].seen_to, self.parts[part].committed) != (end, end)
        }


def _parts(line: Line) -> set[Part]:
    return {(topic, partition) for topic, partition in line["parts"]}
