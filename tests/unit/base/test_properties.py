r"""Properties files, case by case; tests/property has the general promise."""

from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.base.properties import (
    PropertiesError,
    Property,
    load_properties,
    parse_properties,
)


def values(text: str) -> dict[str, str]:
    return {key: found.value for key, found in parse_properties(text).items()}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=1", {"a": "1"}),
        ("a:1", {"a": "1"}),
        ("a 1", {"a": "1"}),
        ("a\t1", {"a": "1"}),
        ("a\f=\f1", {"a": "1"}),
        ("  a  =  1  ", {"a": "1  "}),
        ("a = = 1", {"a": "= 1"}),
        ("a := 1", {"a": "= 1"}),
        ("a   :   1", {"a": "1"}),
        ("a", {"a": ""}),
        ("a=", {"a": ""}),
        ("=1", {"": "1"}),
        ("", {}),
        ("\n \t\n\r\n", {}),
        ("# a=1\n! b=2\n  # c=3\nd=4", {"d": "4"}),
        ("a=1#2", {"a": "1#2"}),
        ("a=1\nb=2\r\nc=3\rd=4", {"a": "1", "b": "2", "c": "3", "d": "4"}),
        (r"a\=b=c", {"a=b": "c"}),
        (r"a\:b\ c=d", {"a:b c": "d"}),
        (r"a=\t\n\r\f\q\\", {"a": "\t\n\r\fq\\"}),
        (r"a=\u0041\u00e4\u00E4", {"a": "Aää"}),
        (r"a=\ud83d\ude00", {"a": "\N{GRINNING FACE}"}),
        (r"a=\ud83d", {"a": "\ud83d"}),
        ("a=1\\\n  2\\\r\n\t3", {"a": "123"}),
        ("a=1\\\\\nb=2", {"a": "1\\", "b": "2"}),
        ("a=1\\\n\nb=2", {"a": "1", "b": "2"}),
        ("# comment \\\na=1", {"a": "1"}),
        ("a\\\nb=1", {"ab": "1"}),
        ("a=1\\", {"a": "1"}),
        ("a=1\\\n# 2", {"a": "1# 2"}),
        ("\\\n# a=1\nb=2", {"b": "2"}),
        ("\\\n\na=1", {"a": "1"}),
        ("a=1\na=2", {"a": "2"}),
        (r"\#a=1", {"#a": "1"}),
        ("listeners=PLAINTEXT://:9092", {"listeners": "PLAINTEXT://:9092"}),
        ("a=\u2028b\x0bc", {"a": "\u2028b\x0bc"}),
    ],
)
def test_reads_what_java_reads(text: str, expected: dict[str, str]) -> None:
    assert values(text) == expected


def test_a_value_knows_the_line_it_begins_on_and_the_last_of_a_key_counts() -> None:
    found = parse_properties("# top\na=1\\\n  2\n\nb=3\na=4\n")

    assert found == {"a": Property("4", 6), "b": Property("3", 5)}


@pytest.mark.parametrize("escape", [r"\u", r"\u12", r"\u12g4", r"\uzzzz"])
def test_a_bad_escape_is_named_with_its_line(escape: str) -> None:
    with pytest.raises(PropertiesError, match=r"line 2: .*four hexadecimal digits"):
        parse_properties(f"a=1\nb={escape}")


def test_a_file_is_read_as_utf_8_with_or_without_a_mark(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    for prefix in (b"", b"\xef\xbb\xbf"):
        file.write_bytes(prefix + "grüße=日本".encode())

        assert load_properties(file) == {"grüße": Property("日本", 1)}


def test_a_file_that_is_not_utf_8_is_read_as_latin_1(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_bytes("grüße=\xe4".encode("iso-8859-1"))

    assert load_properties(str(file)) == {"grüße": Property("ä", 1)}


def test_an_error_in_a_file_names_the_file(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("a=\\u1")

    with pytest.raises(PropertiesError) as caught:
        load_properties(file)

    assert str(caught.value).startswith(f"{file}: line 1: ")


def test_a_missing_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_properties(tmp_path / "none")
