"""What could come next on a command line that is being typed.  Pure.

Names of a cluster, and of scenarios, are looked up by whoever calls this, and only if wanted.

The declarations of the tools say everything: which options there are, whether a value follows, and
which.  A shell's script sends the line up to the cursor and shows what comes back.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from barnabas.cli.command import Command
from barnabas.cli.options import HELP, VERSION, Option
from barnabas.cli.tools import RUN_CLASS, TOOLS, Tool, of_class, of_script, of_words

BOOTSTRAP_NAMES = ("bootstrap-server", "broker-list")
CONFIG_NAMES = ("command-config", "consumer.config", "producer.config")
WORDBREAKS = "=:"
"""Where bash begins a word anew: what it is given must not repeat what stands before."""


class Kind(Enum):
    """What is wanted besides the candidates that are known here."""

    NOTHING = auto()
    TOPICS = auto()
    GROUPS = auto()
    FILES = auto()
    SCENARIOS = auto()
    """Of the lab."""


KINDS = {"topics": Kind.TOPICS, "files": Kind.FILES, "scenarios": Kind.SCENARIOS}
NAMES = {
    "topic": Kind.TOPICS,
    "topics": Kind.TOPICS,
    "include": Kind.TOPICS,
    "whitelist": Kind.TOPICS,
    "topics-include": Kind.TOPICS,
    "topic-white-list": Kind.TOPICS,
    "topic-list": Kind.TOPICS,
    "group": Kind.GROUPS,
}
"""Options whose values are names of the cluster."""


@dataclass(frozen=True, slots=True)
class Candidate:
    text: str
    about: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """What the line says of where the cluster is; None where it says nothing."""

    servers: str | None = None
    config: str | None = None
    """The file with the client's properties."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """How the current word may go on."""

    prefix: str
    """What has been typed of it ..."""
    before: str = ""
    """... after this part of the word, such as `--topic=`, or the names before a comma."""
    candidates: Sequence[Candidate] = ()
    kind: Kind = Kind.NOTHING
    place: Place = Place()

    def matching(self, found: Sequence[Candidate] = ()) -> list[Candidate]:
        """Whole words that the current one may become; `found` are those of the wanted kind."""
        everything = (*self.candidates, *found)
        return [
            Candidate(self.before + each.text, each.about)
            for each in everything
            if each.text.startswith(self.prefix)
        ]


CommandOf = Callable[[Tool], Command]
"""Loads a tool's declaration."""


def split(line: str) -> list[str]:
    """The words of a line up to the cursor; the last one may be empty, or in open quotes."""
    for closing in ("", '"', "'"):
        try:
            words = shlex.split(line + closing)
        except ValueError:
            continue  # a quote is still open: close it
        is_after = line[-1:].isspace() and not closing and not line.endswith("\\ ")
        return [*words, ""] if is_after or not words else words
    return line.split()


def complete(line: str, command_of: CommandOf) -> Wanted:
    """What may come next on this line."""
    words = split(line)
    current = words[-1]
    if len(words) < 2:
        return Wanted(prefix=current)
    found = of_script(words[0])
    if found is not None:
        return _in_tool(found[1], words[1:], command_of)
    name = words[0].rpartition("/")[2].removesuffix(".sh")
    if name == RUN_CLASS:
        tool = of_class(words[1])
        if len(words) > 2:
            return _in_tool(tool, words[2:], command_of) if tool else Wanted(prefix=current)
        return Wanted(prefix=current, candidates=_classes())
    return _in_barnabas(words[1:], command_of) if name == "barnabas" else Wanted(prefix=current)


def _classes() -> list[Candidate]:
    return [Candidate(each.java_class, each.summary) for each in TOOLS.values() if each.java_class]


def _in_barnabas(words: Sequence[str], command_of: CommandOf) -> Wanted:
    if words[0] == "help" and len(words) > 1:
        words = words[1:]
    done = words[:-1]
    found = of_words(done)
    inner: dict[str, Candidate] = {}
    for name, tool in TOOLS.items():
        rest = _rest_of(name, done)
        if rest is not None:
            inner.setdefault(rest, Candidate(rest, tool.summary))
    if found is None:
        return Wanted(prefix=words[-1], candidates=list(inner.values()))
    name, tool = found
    wanted = _in_tool(tool, words[name.count(" ") + 1 :], command_of)
    if inner and len(words) == 2:
        return Wanted(prefix=words[-1], candidates=(*inner.values(), *wanted.candidates))
    return wanted


def _rest_of(name: str, words: Sequence[str]) -> str | None:
    """The next word of a command's name, if the words before are its first ones."""
    parts = name.split(" ")
    is_inside = len(words) < len(parts) and list(words) == parts[: len(words)]
    return parts[len(words)] if is_inside else None


def _in_tool(tool: Tool, words: Sequence[str], command_of: CommandOf) -> Wanted:
    command = command_of(tool)
    known = {
        spelling: option
        for option in (*command.options, HELP, VERSION)
        for spelling in (option.name, *option.aliases)
    }
    place = _place(words)
    current = words[-1]
    if current.startswith("-"):
        name, equals, value = current.partition("=")
        option = known.get(name.lstrip("-"))
        if equals and option is not None:
            return _value(option, value, f"{name}=", place)
        return Wanted(prefix=current, candidates=_option_names(command.options, words))
    if len(words) > 1 and words[-2].startswith("-") and "=" not in words[-2]:
        option = known.get(words[-2].lstrip("-"))
        if option is not None and option.value:
            return _value(option, current, "", place)
    return _word(command, words, place)


def _word(command: Command, words: Sequence[str], place: Place) -> Wanted:
    """A plain word, or an option of which no dash has been typed yet."""
    current = words[-1]
    if command.words_are:
        return Wanted(prefix=current, kind=KINDS[command.words_are], place=place)
    values = [Candidate(each) for each in command.word_values]
    if any(word in command.word_values for word in words[:-1]):
        values = []
    if current or values:
        return Wanted(prefix=current, candidates=values)
    return Wanted(prefix="", candidates=_option_names(command.options, words))


def _option_names(options: Sequence[Option], words: Sequence[str]) -> list[Candidate]:
    """Those that are not given yet, or may be given again; older spellings are understood, but
    not offered.
    """
    given = {word.lstrip("-").partition("=")[0] for word in words[:-1]}
    return [
        Candidate(f"--{option.name}", option.help.split(". ")[0].rstrip("."))
        for option in (*sorted(options, key=lambda each: each.name), HELP, VERSION)
        if (option.many or option.name not in given) and not option.help.startswith("Older")
    ]


def _value(option: Option, typed: str, before: str, place: Place) -> Wanted:
    if option.choices:
        choices = [Candidate(each) for each in option.choices]
        return Wanted(prefix=typed, before=before, candidates=choices)
    if option.name in NAMES:
        kind = NAMES[option.name]
    elif "FILE" in option.value or "DIR" in option.value:
        kind = Kind.FILES
    else:
        return Wanted(prefix=typed, before=before)
    earlier, comma, last = typed.rpartition(",")
    return Wanted(prefix=last, before=before + earlier + comma, kind=kind, place=place)


def _place(words: Sequence[str]) -> Place:
    return Place(_value_in(words, BOOTSTRAP_NAMES), _value_in(words, CONFIG_NAMES))


def _value_in(words: Sequence[str], names: Sequence[str]) -> str | None:
    for at, word in enumerate(words):
        name, equals, value = word.lstrip("-").partition("=")
        if word.startswith("-") and name in names:
            return value if equals else next(iter(words[at + 1 :]), None)
    return None


def lines_for(shell: str, line: str, candidates: Sequence[Candidate]) -> list[str]:
    """As the shell's script reads them: a word, and after a tab what it is for.

    bash has no place for the latter, and takes what stands before the last `=` or `:` of the
    current word to be another word.
    """
    if shell != "bash":
        return [f"{each.text}\t{each.about}" if each.about else each.text for each in candidates]
    current = split(line)[-1]
    cut = max(current.rfind(mark) for mark in WORDBREAKS) + 1
    return [each.text[cut:] for each in candidates]
