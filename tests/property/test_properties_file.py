"""Whatever a writer of properties files writes, the reader reads."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from barnabas.base.properties import PropertiesError, parse_properties

SPECIAL = "\\=:#! \t\n\r\f"


def escaped(text: str, choice: random.Random, *, is_key: bool) -> str:
    """One of the many ways to write a text down, picked at random."""
    out = []
    for index, character in enumerate(text):
        must = character in "\\\t\n\r\f" or (is_key and character in SPECIAL)
        leading = index == 0 and character in SPECIAL
        if not must and not leading and choice.random() < 0.7:
            out.append(character)
        elif character in "\t\n\r\f" and choice.random() < 0.5:
            out.append("\\" + {"\t": "t", "\n": "n", "\r": "r", "\f": "f"}[character])
        elif character in "\n\r" or choice.random() < 0.4 or character in "tnrfu":
            units = character.encode("utf-16-be", "surrogatepass")
            out += [f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2)]
        else:
            out.append("\\" + character)
        rest = text[index + 1 :]
        if rest and rest[0] not in " \t\n\r\f" and choice.random() < 0.1:
            out.append("\\" + choice.choice(["\n", "\r\n", "\r"]) + choice.choice(["", "  ", "\t"]))
    return "".join(out)


def written(items: list[tuple[str, str]], choice: random.Random) -> str:
    lines = []
    for key, value in items:
        if choice.random() < 0.2:
            lines.append(choice.choice(["", "# note = x", "  ! note", "\t", "#\\"]))
        between = choice.choice(["=", ":", " = ", "\t:\f", " ", "  "])
        if not key:
            between = "="
        lines.append(
            choice.choice(["", " ", "\t"])
            + escaped(key, choice, is_key=True)
            + between
            + escaped(value, choice, is_key=False)
        )
    return choice.choice(["\n", "\r\n", "\r"]).join(lines)


texts = st.text(max_size=20) | st.text(alphabet=SPECIAL + "au0\U0001f600", max_size=12)


@given(st.lists(st.tuples(texts, texts), max_size=8), st.randoms(use_true_random=False))
def test_what_is_written_is_read_and_the_last_of_a_key_counts(
    items: list[tuple[str, str]], choice: random.Random
) -> None:
    text = written(items, choice)

    found = parse_properties(text)

    assert {key: entry.value for key, entry in found.items()} == dict(items)


@given(st.text(max_size=200) | st.text(alphabet=SPECIAL + "au09", max_size=60))
def test_any_text_is_read_or_refused_with_its_line(text: str) -> None:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").count("\n") + 1
    try:
        named = [entry.line for entry in parse_properties(text).values()]
    except PropertiesError as error:
        named = [int(str(error).removeprefix("line ").partition(":")[0])]

    assert all(1 <= line <= lines for line in named)
