"""Patterns of topic names: RE2's syntax, whole names, and no pattern that takes for ever."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.coordinator.group.regex import InvalidPatternError, compile_pattern, matching


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("foo", ["foo"]),
        ("foo.*", ["foo", "foobar", "foo-bar", "foo.bar", "foo1"]),
        ("^foo$", ["foo"]),
        (r"\Afoo\z", ["foo"]),
        ("foo|bar", ["foo", "bar"]),
        ("", [""]),
        ("(foo|)bar", ["bar", "foobar"]),
        ("(?:foo)?bar", ["bar", "foobar"]),
        ("(?P<name>f)oo", ["foo"]),
        ("(?<name>f)oo", ["foo"]),
        ("[a-f]+oo", ["foo"]),
        ("[^b]oo", ["foo"]),
        ("[]f]oo", ["foo"]),
        (r"[\w-]+", ["foo", "bar", "foobar", "foo-bar", "FOO", "foo1"]),
        (r"\D+", ["foo", "bar", "foobar", "foo-bar", "foo.bar", "FOO"]),
        (r".*\d", ["foo1"]),
        ("[[:upper:]]+", ["FOO"]),
        (r"\p{Lu}+", ["FOO"]),
        (r"\P{Lu}{3}", ["foo", "bar"]),
        ("(?i)foo", ["foo", "FOO"]),
        ("(?i:F)oo", ["foo"]),
        ("f(?i)oO", ["foo"]),
        (r"foo\.bar", ["foo.bar"]),
        (r"\Qfoo.bar\E", ["foo.bar"]),
        (r"foo\x2ebar", ["foo.bar"]),
        (r"foo\x{2e}bar", ["foo.bar"]),
        ("o?fo{2}", ["foo"]),
        ("fo{1,2}", ["foo"]),
        ("fo{2,}", ["foo"]),
        ("f.*?o", ["foo"]),
        (r"foo\b.*", ["foo", "foo-bar", "foo.bar"]),
        (r"foo\B.*", ["foobar", "foo1"]),
        ("f^oo", []),
        ("foo$bar", []),
        ("f{,2}oo", []),
        ("é.*", []),
    ],
)
def test_patterns_match_whole_names(pattern: str, names: list[str]) -> None:
    every = ["foo", "bar", "foobar", "foo-bar", "foo.bar", "FOO", "foo1", ""]

    assert matching(pattern, every) == frozenset(names)


@pytest.mark.parametrize(
    "pattern",
    [
        "(foo",
        "foo)",
        "[foo",
        "*foo",
        "foo**",
        "foo{2}{3}",
        "foo{3,2}",
        "foo{1001}",
        "foo\\",
        "(?=foo)",
        "(?!foo)",
        "(?<=foo)",
        "(?<!foo)",
        "(?P=name)",
        "(?P<1>foo)",
        r"(f)\1",
        "[z-a]",
        r"\8",
        r"\xg0",
        r"\x{110000}",
        "[[:what:]]",
        r"\p{What}",
        "(?z)foo",
        "(" * 200 + ")" * 200,
        "x" * 2000,
        "((a{1000}){1000}){1000}",
    ],
)
def test_what_is_not_a_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidPatternError):
        compile_pattern(pattern)


@pytest.mark.parametrize("pattern", ["(a+)+b", "(a|a)*b", "(a*)*b", "(a?){30}a{30}b"])
def test_patterns_that_are_slow_elsewhere_are_not_here(pattern: str) -> None:
    """The work is bounded by the length of the name, however the pattern is nested."""
    compiled = compile_pattern(pattern)

    assert not compiled.matches("a" * 249)
    assert compiled.work < 100_000


def test_a_pattern_that_needs_too_much_work_is_refused() -> None:
    names = ["".join("ab"[i >> n & 1] for n in range(16)) * 15 for i in range(2_000)]

    with pytest.raises(InvalidPatternError, match="too expensive"):
        matching(".*a.{200}(.?){300}", names)


CHARS = "ab.-"
atoms = st.sampled_from(
    ["a", "b", ".", r"\.", "-", "[ab]", "[^a]", "(?:ab|b)", r"\w", r"\W", "^", "$"]
)
pieces = st.tuples(atoms, st.sampled_from(["", "*", "+", "?", "{2}", "{1,3}", "{0,2}"])).map(
    lambda piece: piece[0] + (piece[1] if piece[0] not in "^$" else "")
)
patterns = st.lists(st.lists(pieces, max_size=5).map("".join), min_size=1, max_size=3).map("|".join)


@settings(max_examples=300, deadline=None)
@given(patterns, st.text(CHARS, max_size=8))
def test_patterns_match_what_the_standard_library_matches(pattern: str, name: str) -> None:
    expected = re.fullmatch(pattern.replace("$", r"\Z"), name) is not None

    assert compile_pattern(pattern).matches(name) == expected


@settings(max_examples=300, deadline=None)
@given(st.text("ab(){}[]|*+?^$.\\-,:1Pi<>=!", max_size=20))
def test_any_text_is_a_pattern_or_refused(text: str) -> None:
    try:
        pattern = compile_pattern(text)
    except InvalidPatternError:
        return
    pattern.matches("ab")
