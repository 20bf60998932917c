"""The reference page is what the declarations say."""

from __future__ import annotations

from pathlib import Path

from barnabas.pipelines import document

ROOT = Path(__file__).parents[3]


def test_the_page_of_settings_is_what_the_definitions_say() -> None:
    page = (ROOT / document.PAGE).read_text(encoding="utf-8")

    assert page == document.render(), "run: python -m barnabas.pipelines.document"
