"""Entry points: find the tool, read its command line, run it, and turn what was raised into one
line on stderr and an exit status.

0 is success and nothing else.  1: anything wrong.  130: Ctrl-C.  143: SIGTERM.  141: the reader of
our output went away (`| head`), which nobody needs to be told.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, NoReturn

from barnabas.cli.tools import RUN_CLASS, TOOLS, of_class, of_script, of_words

if TYPE_CHECKING:
    from barnabas.cli.command import Command

FAILED = 1
INTERRUPTED = 130
PIPE_CLOSED = 141
TERMINATED = 143


def main() -> NoReturn:
    """`barnabas <command> ...`"""
    _end_silently_on_ctrl_c()
    _prepare_streams()
    _exit(_barnabas(sys.argv[1:]))


def script() -> NoReturn:
    """`kafka-topics ...`, `kafka-topics.sh ...`: the name it was called by says which tool."""
    _end_silently_on_ctrl_c()
    _prepare_streams()
    name = os.path.basename(sys.argv[0]).removesuffix(".sh")
    if name == RUN_CLASS:
        _exit(_run_class(sys.argv[1:]))
    found = of_script(name)
    if found is None:
        _exit(_complain(name, 'no tool has this name: "barnabas help" lists them'))
    _exit(run_tool(name, found[1].module, sys.argv[1:]))


def _end_silently_on_ctrl_c() -> None:
    """Until a tool runs there is nothing to clean up, and a traceback would tell nobody a thing."""
    import signal

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def _prepare_streams() -> None:
    """Input and output that are closed are empty ones: else the next socket would be taken for
    them.  A letter that a terminal's character set lacks is printed as a question mark, as in Java.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115 (open until the end)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="replace")


def _interrupt_on_ctrl_c() -> None:
    """From now on Ctrl-C is `KeyboardInterrupt`, unless it was ignored from the start (`nohup`)."""
    import signal

    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _run_class(argv: Sequence[str]) -> int:
    """`kafka-run-class.sh kafka.tools.GetOffsetShell ...`, as older notes start tools."""
    if not argv:
        return _complain(RUN_CLASS, "the class of a tool is missing, such as GetOffsetShell")
    tool = of_class(argv[0])
    if tool is None:
        return _complain(RUN_CLASS, f'no tool is of class {argv[0]}: "barnabas help" lists them')
    return run_tool(tool.script, tool.module, argv[1:])


def _barnabas(argv: Sequence[str]) -> int:
    if not argv:
        sys.stderr.write(_overview())
        return FAILED
    name = argv[0]
    if name in ("--version", "version"):
        return _write(f"barnabas {_version()}\n")
    is_help = name in ("--help", "-h", "help")
    if is_help:
        argv = argv[1:]
        if not argv or argv[0].startswith("-"):
            return _write(_overview())
    found = of_words(argv)
    if found is None:
        return _unknown(argv[0])
    name, tool = found
    rest = ["--help"] if is_help else argv[name.count(" ") + 1 :]
    return run_tool(f"barnabas {name}", tool.module, rest)


def _unknown(word: str) -> int:
    from barnabas.cli.near import nearest

    if word.startswith("-"):
        return _complain("barnabas", f'unknown option "{word}": "barnabas help" lists the commands')
    within = [name for name in TOOLS if name.startswith(f"{word} ")]
    near = within[0] if within else nearest(word, TOOLS)
    hint = f'did you mean "{near}"?' if near else '"barnabas help" lists the commands'
    return _complain("barnabas", f'unknown command "{word}": {hint}')


def run_tool(program: str, module: str, argv: Sequence[str]) -> int:
    """Runs one tool to its end.  Never raises; all that it has to say is said when it returns."""
    from barnabas.cli.command import CommandError, Terminated
    from barnabas.cli.options import UsageError, parse
    from barnabas.client.errors import ClientError

    command: Command = import_module(module).COMMAND
    try:
        args = parse(command.options, argv, words=command.words)
        if args.has("help"):
            return _write(_help(program, command))
        if args.has("version"):
            return _write(f"{_version()}\n")
        _interrupt_on_ctrl_c()
        status = command.run(args)
        sys.stdout.flush()
    except UsageError as error:
        return _complain(program, str(error))
    except CommandError as error:
        return _complain(command.failure or program, str(error))
    except Terminated:
        return TERMINATED
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        return _io_failed(program, error)
    except ClientError as error:
        return _complain("" if error.before_any_answer else command.failure or program, str(error))
    return status


def _complain(who: str, what: str) -> int:
    separator = "" if not who else " " if who.endswith(":") else ": "
    print(f"{who}{separator}{what}", file=sys.stderr)
    return FAILED


def _write(text: str) -> int:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        return _io_failed("", error)
    return 0


def _io_failed(who: str, error: OSError) -> int:
    """A full disk behind `> file`, for one: what the system said is enough."""
    if isinstance(error, BrokenPipeError):
        return PIPE_CLOSED
    where = f"{error.filename}: " if error.filename else ""
    return _complain(who, f"{where}{error.strerror or error}")


def _exit(status: int) -> NoReturn:
    """Ends the process at once: nothing that could still print a traceback runs after this."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            pass  # the reader is gone; the status says so
    os._exit(status)


def _version() -> str:
    from barnabas import __version__

    return __version__


def _help(program: str, command: Command) -> str:
    from barnabas.cli.options import help_text

    return help_text(
        program,
        summary=command.summary,
        examples=command.examples,
        options=command.options,
        notes=command.notes,
        width=_columns(),
    )


def _columns() -> int:
    try:
        columns = os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):
        columns = 100
    return max(40, min(columns, 100))


def _overview() -> str:
    width = max(map(len, TOOLS))
    lines = [
        "Barnabas, a Kafka-compatible streaming platform.",
        "",
        "Usage: barnabas <command> [options]",
        "",
        "Commands",
    ]
    for name, tool in TOOLS.items():
        also = f" (also: {tool.script})" if tool.script else ""
        lines.append(f"  {name:<{width}}  {tool.summary}{also}")
    lines += [
        "",
        '"barnabas <command> --help" shows the options of a command.',
        '"barnabas --version" shows the version.',
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
