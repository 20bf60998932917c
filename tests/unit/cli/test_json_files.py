from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.cli.json_files import Json, parse_json, read_json
from barnabas.cli.options import UsageError


def of(text: str) -> Json:
    return parse_json(text, "--file: f.json")


def complaint(text: str, read: str) -> str:
    """What is said of a document when a value in it is read, such as `partitions[0].offset`."""
    found = of(text)
    try:
        for step in read.split():
            found = found.items()[int(step)] if step.isdigit() else found.field(step)
        found.whole()
    except UsageError as error:
        return str(error)
    raise AssertionError(f"nothing is wrong with {text}")


def test_values_are_read() -> None:
    document = of('{"version": 1, "a": [{"topic": "t", "partition": 3}, 7], "b": null}')

    first, second = document.field("a").items()
    assert (first.place(), second.whole()) == (("t", 3), 7)
    assert (document.optional("b"), document.optional("c")) == (None, None)


@pytest.mark.parametrize(
    ("text", "read", "said"),
    [
        ("{}", "a", 'the field "a" is missing'),
        ('{"a": {}}', "a b", 'a: the field "b" is missing'),
        ('{"a": [1]}', "a b", "a: an object is expected, not [1]"),
        ('{"a": "x"}', "a 0", 'a: a list is expected, not "x"'),
        ('{"a": [1, "2"]}', "a 1", 'a[1]: a whole number is expected, not "2"'),
        ('{"a": [true]}', "a 0", "a[0]: a whole number is expected, not true"),
        ('{"a": 1.5}', "a", "a: a whole number is expected, not 1.5"),
        ('{"a": -1}', "a", "a: -1 is out of range: at least 0"),
        ('{"a": 2147483648}', "a", "a: 2147483648 is out of range: at most 2147483647"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(text: str, read: str, said: str) -> None:
    assert complaint(text, read) == f"--file: f.json: {said}"


def test_what_is_long_is_cut() -> None:
    said = complaint('{"a": ["' + "x" * 100 + '"]}', "a")
    assert said.endswith("...")
    assert len(said) < 100


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not valid JSON: Expecting value (line 1, column 1)"),
        ('{\n"a": 1\n"b"}', "not valid JSON: Expecting ',' delimiter (line 3, column 1)"),
        ("[" * 100_000, "not valid JSON: nested too deeply"),
        ('{"version": 2}', "Not supported version field value 2"),
        ('{"version": "1"}', 'version: a whole number is expected, not "1"'),
        ("3", "an object is expected, not 3"),
    ],
)
def test_what_is_no_document_of_ours_is_one_line(text: str, said: str) -> None:
    with pytest.raises(UsageError) as raised:
        of(text)
    assert str(raised.value) == f"--file: f.json: {said}"


def test_files_are_read_with_or_without_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "f.json"
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}')
    assert read_json("file", str(path)).field("a").whole() == 1


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_bytes(b"\xff\xfe\x00")
    for path, said in (
        (tmp_path / "none.json", "cannot read {}: No such file or directory"),
        (tmp_path, "cannot read {}: Is a directory"),
        (bad, "{}: not a text in UTF-8"),
    ):
        with pytest.raises(UsageError) as raised:
            read_json("file", str(path))
        assert str(raised.value) == f"--file: {said.format(path)}"
