"""Definitions in files: TOML, YAML and SQL come to the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.pipelines.declaring import build
from barnabas.pipelines.definition import Transform
from barnabas.pipelines.definition_files import parse_definition, read_definition
from barnabas.pipelines.errors import PipelineError

QUERY = "SELECT symbol AS key, price\nFROM prices -- all of them"
TOML = f'''
topic = ["prices", "trucks"]
to = "out"
checkpoint = "state"
max_offsets_per_trigger = 10
once = true
query = """{QUERY}"""

[schema]
prices = "symbol STRING, price DOUBLE"
trucks = "truck STRING"
'''
YAML = f"""
topic: [prices, trucks]
to: out
checkpoint: state
max-offsets-per-trigger: 10
once: true
schema:
  prices: symbol STRING, price DOUBLE
  trucks: truck STRING
query: "{QUERY.replace(chr(10), chr(92) + "n")}"
"""
SQL = f"""-- Average prices: everything with a colon after one word is a setting.
-- topic: prices, trucks
-- to: out
-- checkpoint: state
-- max-offsets-per-trigger: 10
-- once: true

-- schema.prices: symbol STRING, price DOUBLE
-- schema.trucks: truck STRING
{QUERY};
"""


@pytest.mark.parametrize(("text", "suffix"), [(TOML, ".toml"), (YAML, ".yaml"), (SQL, ".sql")])
def test_all_three_kinds_of_files_say_the_same(text: str, suffix: str) -> None:
    built = build(Transform, {}, parse_definition(text, suffix))

    assert built == Transform(
        topic=("prices", "trucks"),
        to="out",
        checkpoint="state",
        max_offsets_per_trigger=10,
        once=True,
        schema={"prices": "symbol STRING, price DOUBLE", "trucks": "truck STRING"},
        query=QUERY,
    )


@pytest.mark.parametrize(
    ("text", "suffix", "said"),
    [
        ("topic = ", ".toml", "not TOML"),
        ("topic: [", ".yml", "not YAML"),
        ("- a\n- b\n", ".yaml", "not a table of settings"),
        ("", ".ini", "a definition ends in .toml, .yaml or .sql"),
        ("-- schema: a INT\n-- schema.x: b INT\nSELECT 1", ".sql", "with and without a name"),
    ],
)
def test_what_is_no_definition_is_one_line(text: str, suffix: str, said: str) -> None:
    with pytest.raises(PipelineError) as raised:
        parse_definition(text, suffix)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_errors_name_the_file(tmp_path: Path) -> None:
    broken = tmp_path / "broken.toml"
    broken.write_text("=")

    with pytest.raises(PipelineError, match=r"broken\.toml: not TOML"):
        read_definition(str(broken))
    with pytest.raises(PipelineError, match=r"cannot read .*missing\.toml: No such file"):
        read_definition(str(tmp_path / "missing.toml"))
