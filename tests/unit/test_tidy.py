"""House rules that a machine can check: length, layout, links, words that promise work."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from barnabas.base.settings import document as settings_document

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "barnabas"
SIGNPOST = ROOT / "src" / "pyspark_barnabas" / "__init__.py"
"""Beside the package, because PySpark looks for data sources by this name; passes one on."""

LINES_MAX = 400
FUNCTION_LINES_MAX = 70
ENTRANCE_LINES_MAX = 80
LONGER = {
    "replication/replicas.py": "a turn of the loop, from the appends to who is woken, in one place",
    "storage/log.py": "the contract of a log in one place; what it does is in other modules",
    "storage/segment.py": "the files of a segment and the marks to go back to change together",
}
"""Files that may be longer than `LINES_MAX`, up to twice that, and why."""
LONGER_FUNCTIONS = {
    "records/batch.py: decode_body": "a call for each field would cost more than the field",
}
"""Functions that may be longer than `FUNCTION_LINES_MAX`, up to half as much again, and why."""

ROOMS = frozenset(
    """
    base broker cli client console controller coordinator lab pipelines protocol records registry
    replication security storage
    """.split()  # noqa: SIM905 (read as text, a name a word)
)
PRINTERS = ("cli/", "broker/run.py", "lab/sim/__main__.py")
"""What may write to the terminal."""

PROMISES = re.compile("|".join(("TO" + "DO", "FIX" + "ME", "NotImplemented" + "Error")))
SKIPS = re.compile(r"pytest\.mark\." + r"skip\b|pytest\." + r"skip\(")


@cache
def files(*folders: str) -> tuple[Path, ...]:
    """The project's own files in these folders; what builds and downloads leave is passed over."""
    found: list[Path] = []
    for folder in folders:
        for path, names, leaves in os.walk(ROOT / folder):
            names[:] = [name for name in names if not MADE.fullmatch(name)]
            found += [Path(path) / leaf for leaf in leaves]
    return tuple(sorted(found))


MADE = re.compile(r"\..*|node_modules|target|__pycache__|.*\.egg-info")


def sources() -> tuple[Path, ...]:
    return tuple(path for path in files("src") if path.suffix == ".py" and path != SIGNPOST)


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def line_count(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """Name and length of every function; decorators and the docstring do not count."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            first = node.body[0]
            docstring = 0
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                assert first.end_lineno is not None
                docstring = first.end_lineno - first.lineno + 1
            yield node.name, node.end_lineno - node.lineno + 1 - docstring


# Size.


def test_no_source_file_is_too_long_to_read_in_one_go() -> None:
    too_long = {
        name_of(path): lines
        for path in sources()
        if (lines := line_count(path)) > (2 if name_of(path) in LONGER else 1) * LINES_MAX
    }
    assert too_long == {}


def test_no_function_is_longer_than_a_screen() -> None:
    too_long = {
        name: lines
        for name, lines in function_lengths().items()
        if lines > (1.5 if name in LONGER_FUNCTIONS else 1) * FUNCTION_LINES_MAX
    }
    assert too_long == {}


def test_exceptions_to_the_lengths_are_still_needed() -> None:
    of_files = {name_of(path): line_count(path) for path in sources()}
    of_functions = function_lengths()

    assert {name for name in LONGER if of_files[name] <= LINES_MAX} == set()
    assert {name for name in LONGER_FUNCTIONS if of_functions[name] <= FUNCTION_LINES_MAX} == set()


def function_lengths() -> dict[str, int]:
    return {
        f"{name_of(path)}: {name}": lines for path in sources() for name, lines in functions(path)
    }


# Layout.


def test_everything_under_src_is_in_a_room() -> None:
    outside = {
        name_of(path)
        for path in files("src")
        if path != SIGNPOST
        and name_of(path).split("/")[0] not in ROOMS | {"__init__.py", "py.typed"}
    }
    assert outside == set()


def test_every_room_says_what_it_is_for() -> None:
    rooms = {name_of(path).split("/")[0] for path in sources()} - {"__init__.py"}

    assert {room for room in rooms if not (PACKAGE / room / "README.md").is_file()} == set()


def test_every_unit_test_stands_where_its_source_stands() -> None:
    """`tests/unit/<room>/test_x.py`: the folder is that of the source."""
    folders = {path.parent.relative_to(PACKAGE) for path in sources()}
    odd = {
        str(path.relative_to(ROOT))
        for path in files("tests/unit")
        if path.name.startswith("test_")
        and path.suffix == ".py"
        and path.parent.relative_to(ROOT / "tests" / "unit") not in folders
    }
    assert odd == set()


def test_a_package_has_a_small_entrance() -> None:
    """A room is its modules: `__init__.py` is empty, or passes names on."""
    large = {
        name_of(path): line_count(path)
        for path in sources()
        if path.name == "__init__.py" and line_count(path) > ENTRANCE_LINES_MAX
    }
    assert large == {}


# Words and calls.


def found(pattern: re.Pattern[str], paths: tuple[Path, ...]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in paths
        if path.suffix in (".py", ".toml", ".java", ".js")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if pattern.search(line)
    ]


def test_nothing_is_left_for_later() -> None:
    assert found(PROMISES, files("src", "tests", "bench")) == []


def test_no_test_is_switched_off() -> None:
    assert found(SKIPS, files("tests")) == []


def test_only_the_command_line_prints() -> None:
    printing = [
        f"{name_of(path)}:{node.lineno}"
        for path in sources()
        if not name_of(path).startswith(PRINTERS)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "print"
    ]
    assert printing == []


def test_nothing_names_a_machine() -> None:
    """Paths of home directories and checkouts belong to one person's machine."""
    machine = re.compile(r"/(home|Users|work)/\w|/root/")
    everywhere = (*files("src", "tests", "bench", "docs"), *ROOT.glob("*.md"))
    texts = [path for path in everywhere if path.suffix in (".py", ".md") and path != SELF]

    assert [
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path in texts
        if (match := machine.search(path.read_text(encoding="utf-8")))
    ] == []


SELF = Path(__file__).resolve()


# Pages.


def pages() -> list[Path]:
    everywhere = (*files("src", "tests", "bench", "docs"), *ROOT.glob("*.md"))
    return [path for path in everywhere if path.suffix == ".md"]


LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


def anchors(page: Path) -> set[str]:
    """The names by which headings can be linked to, made as GitHub makes them."""
    names = set()
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            text = re.sub(r"[^\w\- ]", "", line.lstrip("#").strip().lower())
            names.add(text.replace(" ", "-"))
    return names


def broken_links(page: Path) -> list[str]:
    broken = []
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        if not linked.exists() or (anchor and anchor not in anchors(linked)):
            broken.append(f"{page.relative_to(ROOT)}: {target}")
    return broken


def test_every_link_leads_somewhere() -> None:
    assert [link for page in pages() for link in broken_links(page)] == []


def test_every_page_of_docs_can_be_reached_from_the_readme() -> None:
    reached: set[Path] = set()
    ahead = [ROOT / "README.md"]
    while ahead:
        page = ahead.pop()
        if page in reached or page.suffix != ".md" or not page.is_file():
            continue
        reached.add(page)
        targets = LINK.findall(page.read_text(encoding="utf-8"))
        ahead += [(page.parent / target.partition("#")[0]).resolve() for target in targets]
    lost = {str(page.relative_to(ROOT)) for page in files("docs") if page.suffix == ".md"} - {
        str(page.relative_to(ROOT)) for page in reached
    }

    assert lost == set()


@pytest.mark.parametrize("page", [p for p in pages() if "docs" in p.parts], ids=lambda p: p.name)
def test_a_page_begins_with_its_title_and_what_it_promises(page: Path) -> None:
    title, promise = page.read_text(encoding="utf-8").splitlines()[:2]

    assert title.startswith("# ")
    assert promise.strip()


def test_the_settings_page_is_what_the_declarations_say() -> None:
    page = (ROOT / settings_document.PAGE).read_text(encoding="utf-8")

    assert page == settings_document.render(), "run: python -m barnabas.base.settings.document"
