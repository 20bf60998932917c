from __future__ import annotations

from datetime import UTC, timedelta, timezone

import pytest

from barnabas.cli.java_dates import date_format
from barnabas.cli.options import UsageError

MOMENT = 1_700_000_000_007
"""Tuesday, 14 November 2023, 22:13:20.007 in Greenwich."""


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("yyyy-MM-dd HH:mm:ss:SSS", "2023-11-14 22:13:20:007"),
        ("yyyy-MM-dd HH:mm:ss,SSS", "2023-11-14 22:13:20,007"),
        ("yy/M/d h:m:s", "23/11/14 10:13:20"),
        ("EEE, d MMM yyyy", "Tue, 14 Nov 2023"),
        ("EEEE MMMM", "Tuesday November"),
        ("KK kk D u", "10 22 318 2"),
        ("hh:mm a z", "10:13 PM UTC"),
        ("'at' HH 'o''clock'", "at 22 o'clock"),
        ("yyyy-MM-dd'T'HH:mm:ssXXX", "2023-11-14T22:13:20Z"),
        ("ss Z", "20 +0000"),
        ("", ""),
    ],
)
def test_patterns_are_javas(pattern: str, text: str) -> None:
    assert date_format("--date-format", pattern, UTC)(MOMENT) == text


def test_another_zone_has_other_hours() -> None:
    zone = timezone(timedelta(hours=-3, minutes=-30))

    assert date_format("", "dd HH:mm XXX Z", zone)(MOMENT) == "14 18:43 -03:30 -0330"


@pytest.mark.parametrize(("pattern", "what"), [("yyyy b", "the letter b"), ("'open", "a quote")])
def test_a_pattern_that_is_none_is_named(pattern: str, what: str) -> None:
    with pytest.raises(UsageError, match=f"--date-format: .*{what}"):
        date_format("--date-format", pattern)
