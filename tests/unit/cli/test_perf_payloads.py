from __future__ import annotations

import random
from itertools import islice

from barnabas.cli.perf_payloads import (
    chosen_values,
    letter_values,
    numbers,
    random_letters,
    split_values,
)


def test_letters_are_letters_of_the_wanted_number() -> None:
    letters = random_letters(random.Random(0), 5_000)

    assert len(letters) == 5_000
    assert set(letters) == set(range(65, 91))


def test_values_do_not_repeat_within_a_batch() -> None:
    values = list(islice(letter_values(100, random.Random(0)), 20_000))

    assert {len(value) for value in values} == {100}
    assert len(set(values)) == 20_000


def test_a_value_larger_than_the_room_is_possible() -> None:
    values = letter_values(9 << 20, random.Random(0))

    assert len(next(values)) == len(next(values)) == 9 << 20


def test_values_are_chosen_from_all_of_a_file() -> None:
    chosen = set(islice(chosen_values([b"a", b"b", b"c"], random.Random(0)), 2_000))

    assert chosen == {b"a", b"b", b"c"}


def test_numbers_count_up() -> None:
    assert list(islice(numbers(), 3)) == [b"0", b"1", b"2"]


def test_a_file_is_split_at_its_delimiter() -> None:
    assert split_values(b"a\n\nb\n", b"\n") == [b"a", b"", b"b"]
    assert split_values(b"a;b", b";") == [b"a", b"b"]
    assert split_values(b"", b"\n") == []
