"""What becomes of a tool's end: its status and its last words."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import ModuleType

import pytest

from barnabas import __version__
from barnabas.cli.command import Command, CommandError, Terminated
from barnabas.cli.main import run_tool
from barnabas.cli.options import Option, Parsed, UsageError
from barnabas.cli.tools import TOOLS
from barnabas.client.errors import ClientError, NotReachableError


@pytest.fixture
def tool() -> Iterator[Callable[..., int]]:
    """Runs a tool that does what is given."""
    name = "a_tool_for_this_test"

    def run(action: Callable[[], int], *argv: str, failure: str = "") -> int:
        module = ModuleType(name)

        def act(args: Parsed) -> int:
            return action()

        command = Command(
            summary="A tool.",
            examples=("--flag",),
            options=(Option(name="flag", help="A flag."),),
            run=act,
            failure=failure,
        )
        vars(module)["COMMAND"] = command
        sys.modules[name] = module
        return run_tool("tool", name, argv)

    yield run
    sys.modules.pop(name, None)


Tool = Callable[..., int]
Captured = pytest.CaptureFixture[str]


def raising(error: BaseException) -> Callable[[], int]:
    def action() -> int:
        raise error

    return action


@pytest.mark.parametrize(
    ("error", "status", "last_words"),
    [
        (UsageError("--x is wrong"), 1, "tool: --x is wrong\n"),
        (CommandError("it broke"), 1, "tool: it broke\n"),
        (ClientError("no"), 1, "tool: no\n"),
        (KeyboardInterrupt(), 130, ""),
        (Terminated(), 143, ""),
        (BrokenPipeError(), 141, ""),
        (OSError(28, "No space left on device"), 1, "tool: No space left on device\n"),
        (OSError(13, "Permission denied", "/f"), 1, "tool: /f: Permission denied\n"),
    ],
)
def test_every_end_has_a_status_and_at_most_one_line(
    tool: Tool, capsys: Captured, error: BaseException, status: int, last_words: str
) -> None:
    assert tool(raising(error)) == status
    assert capsys.readouterr() == ("", last_words)


def test_success_is_silent(tool: Tool, capsys: Captured) -> None:
    assert tool(lambda: 0, "--flag") == 0
    assert capsys.readouterr() == ("", "")


def test_the_words_before_a_failure_are_the_tools_own(tool: Tool, capsys: Captured) -> None:
    assert tool(raising(CommandError("it broke")), failure="Error :") == 1
    assert capsys.readouterr().err == "Error : it broke\n"


def test_a_broker_that_is_not_there_is_said_without_anything_before(
    tool: Tool, capsys: Captured
) -> None:
    assert tool(raising(NotReachableError("h:1")), failure="Error :") == 1
    assert capsys.readouterr().err.startswith("broker not reachable at h:1: is it running?")


def test_a_bug_is_not_hidden(tool: Tool) -> None:
    with pytest.raises(ZeroDivisionError):
        tool(raising(ZeroDivisionError()))


def test_help_and_version_do_not_run_the_tool(tool: Tool, capsys: Captured) -> None:
    assert tool(raising(AssertionError()), "--help") == 0
    assert capsys.readouterr().out.startswith("A tool.\n\nExamples\n  tool --flag\n")
    assert tool(raising(AssertionError()), "--version") == 0
    assert capsys.readouterr().out == f"{__version__}\n"


@pytest.mark.parametrize("name", TOOLS)
def test_every_tool_is_there_and_its_options_are_declared_once(name: str) -> None:
    command: Command = __import__(TOOLS[name].module, fromlist=["COMMAND"]).COMMAND
    names = [spelling for each in command.options for spelling in (each.name, *each.aliases)]

    assert len(names) == len(set(names))
    assert all(each.help.endswith(".") for each in command.options)
    assert command.summary.endswith(".")
