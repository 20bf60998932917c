"""Options of the tools, as data: parsing, error lines and `--help` all read the declaration.

The habits are those of Kafka's own tools, whose command lines people paste: `--name value` and
`--name=value`, any prefix that is unique, one dash in place of two, a value that begins with a dash
(`--request-required-acks -1`).  What differs on purpose: an option that is misspelt, given twice or
left without its value is one clear line, and a stray word is never ignored.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1


class UsageError(Exception):
    """What was typed cannot be meant; one line that names the option."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option of a tool."""

    name: str
    help: str
    value: str = ""
    """What `--help` calls the value; empty for an option that has none."""
    whole: tuple[int, int] | None = None
    """Least and greatest value of an option that takes a whole number."""
    choices: tuple[str, ...] = ()
    any_case: bool = False
    """Choices, which are in lower case, may be typed in upper case too."""
    many: bool = False
    """May be given several times."""
    alone: str | None = None
    """The value meant when none follows; None if one must."""
    aliases: tuple[str, ...] = ()
    unlisted: tuple[str, ...] = ()
    """Spellings that are understood, and that neither `--help` nor shells show."""

    def check(self, text: str) -> None:
        """`UsageError` unless the text is a value of this option."""
        if self.whole is not None:
            least, most = self.whole
            number = _whole_number(text)
            if number is None:
                raise UsageError(f'--{self.name}: "{text}" is not a whole number')
            if not least <= number <= most:
                bound = f"at least {least}" if number < least else f"at most {most}"
                raise UsageError(f"--{self.name}: {text} is out of range: {bound}")
        chosen = text.lower() if self.any_case else text
        if self.choices and chosen not in self.choices:
            listed = ", ".join(self.choices)
            raise UsageError(f'--{self.name}: "{text}" is not one of {listed}')


HELP = Option(name="help", aliases=("h",), help="Show this help and exit.")
VERSION = Option(name="version", help="Show the version and exit.")


@dataclass(slots=True, kw_only=True)
class Parsed:
    """What was typed.  Asking for an option that the tool has not declared is a bug."""

    options: dict[str, Option]
    given: dict[str, list[str]] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)
    order: list[tuple[str, str]] = field(default_factory=list)
    """Names and values of options as they follow each other, where that has a meaning."""

    def has(self, name: str) -> bool:
        assert name in self.options, name
        return name in self.given

    def text(self, name: str) -> str | None:
        values = self.texts(name)
        return values[-1] if values else None

    def texts(self, name: str) -> list[str]:
        assert name in self.options, name
        return self.given.get(name, [])

    def number(self, name: str) -> int | None:
        assert self.options[name].whole is not None, name
        text = self.text(name)
        return None if text is None else int(text)


def parse(
    options: Sequence[Option], argv: Sequence[str], *, words: tuple[int, int] = (0, 0)
) -> Parsed:
    """Reads a command line.  `words` bounds how many plain words may stand beside the options.

    `--help` and `--version` are always known, and end the reading: what follows is not looked at.
    """
    known = {option.name: option for option in (*options, HELP, VERSION)}
    spellings = {
        spelling: option
        for option in known.values()
        for spelling in (*option.aliases, *option.unlisted)
    } | known
    parsed = Parsed(options=known)
    rest = [_as_text(token) for token in argv]
    while rest:
        token = rest.pop(0)
        option, value = _option_of(token, spellings)
        if option is None:
            parsed.words.append(token)
            continue
        if option in (HELP, VERSION):
            parsed.given = {option.name: [""]}
            return parsed
        _add(parsed, option, _value_of(option, value, rest, spellings))
    least, most = words
    if len(parsed.words) > most:
        raise UsageError(f'unexpected argument "{parsed.words[most]}"')
    if len(parsed.words) < least:
        raise UsageError("missing argument")
    return parsed


def _as_text(token: str) -> str:
    """What is no text has no place in a request, nor in a client's settings."""
    try:
        token.encode()
    except UnicodeEncodeError:
        shown = token.encode(errors="surrogateescape").decode(errors="backslashreplace")
        raise UsageError(f'"{shown}" is not text in UTF-8') from None
    return token


def _add(parsed: Parsed, option: Option, value: str) -> None:
    if option.name in parsed.given and not option.many and option.value:
        raise UsageError(f"--{option.name} is given twice")
    if option.value:
        option.check(value)
    parsed.given.setdefault(option.name, []).append(value)
    parsed.order.append((option.name, value))


def _option_of(token: str, spellings: dict[str, Option]) -> tuple[Option | None, str | None]:
    """The option that a token names, and the value after its equals sign; None for a word."""
    if not token.startswith("-") or token in ("-", "--") or _whole_number(token) is not None:
        return None, None
    name, equals, value = token.lstrip("-").partition("=")
    return _find(token, name, spellings), value if equals else None


def _find(token: str, name: str, spellings: dict[str, Option]) -> Option:
    found = spellings.get(name)
    if found is not None:
        return found
    if token.startswith("--") and name:
        longer = {option.name: option for key, option in spellings.items() if key.startswith(name)}
        if len(longer) == 1:
            return next(iter(longer.values()))
        if longer:
            listed = ", ".join(f"--{key}" for key in sorted(longer))
            raise UsageError(f"--{name} could be any of {listed}")
    raise UsageError(f"unknown option {token.partition('=')[0]}: {_suggestion(name, spellings)}")


def _suggestion(name: str, spellings: dict[str, Option]) -> str:
    import difflib

    close = difflib.get_close_matches(name, spellings, n=1)
    return f"did you mean --{close[0]}?" if close else "--help lists the options"


def _value_of(
    option: Option, value: str | None, rest: list[str], spellings: dict[str, Option]
) -> str:
    if not option.value:
        if value is not None:
            raise UsageError(f"--{option.name} takes no value")
        return ""
    if value is not None:
        return value
    if rest and not _is_option(rest[0], spellings):
        return rest.pop(0)
    if option.alone is None:
        raise UsageError(f"--{option.name} needs a value: {option.value}")
    return option.alone


def _is_option(token: str, spellings: dict[str, Option]) -> bool:
    """Whether a token is surely an option, so that it cannot be the value of the one before."""
    return token.startswith("--") and token[2:].partition("=")[0] in spellings


def _whole_number(text: str) -> int | None:
    digits = text[1:] if text[:1] in "+-" else text
    return int(text) if digits.isascii() and digits.isdigit() else None


def at_most_one(args: Parsed, *names: str) -> str | None:
    """The one of these options that is given, if any; several are an error."""
    given = [name for name in names if args.has(name)]
    if len(given) > 1:
        raise UsageError(f"--{given[0]} and --{given[1]} cannot be used together")
    return given[0] if given else None


def action_of(args: Parsed, actions: Iterable[str]) -> str:
    """The one of these options that says what is to be done; none and several are errors."""
    given = [action for action in actions if args.has(action)]
    if len(given) != 1:
        listed = ", ".join(f"--{action}" for action in actions)
        raise UsageError(f"exactly one action is needed: {listed}")
    return given[0]


def command_of(args: Parsed, commands: Iterable[str]) -> str:
    """The word that says what is to be done."""
    listed = ", ".join(commands)
    if not args.words:
        raise UsageError(f"a command is needed: {listed}")
    (command,) = args.words
    if command not in commands:
        raise UsageError(f'"{command}" is not a command: {listed}')
    return command


def check_belonging(
    args: Parsed, belongs_to: Mapping[str, Collection[str]], action: str, *, said: str
) -> None:
    """`UsageError` for an option that makes no sense with the action, which is called `said`."""
    for option, actions in belongs_to.items():
        if args.has(option) and action not in actions:
            raise UsageError(f"--{option} cannot be used with {said}")


def required(args: Parsed, name: str) -> str:
    value = args.text(name)
    if not value:
        raise UsageError(f"--{name} is missing: {args.options[name].value}")
    return value


def help_text(
    program: str,
    *,
    summary: str,
    examples: Sequence[str],
    options: Sequence[Option],
    notes: Sequence[str] = (),
    width: int = 100,
) -> str:
    """The whole of `--help`; the same layout for every tool."""
    import textwrap

    lines = [summary, "", "Examples"]
    lines += [f"  {program} {example}".rstrip() for example in examples]
    lines += ["", "Options"]
    for option in (*sorted(options, key=lambda each: each.name), HELP, VERSION):
        lines.append(f"  {_heading(option)}")
        lines += textwrap.wrap(
            option.help, width, initial_indent="      ", subsequent_indent="      "
        )
    for note in notes:
        lines.append("")
        lines += textwrap.wrap(note, width)
    return "\n".join(lines) + "\n"


def _heading(option: Option) -> str:
    names = ", ".join(
        f"--{name}" if len(name) > 1 else f"-{name}" for name in (option.name, *option.aliases)
    )
    if not option.value:
        return names
    return f"{names} [{option.value}]" if option.alone is not None else f"{names} {option.value}"
