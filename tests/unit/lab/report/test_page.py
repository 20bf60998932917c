"""The report: one page that needs nothing but itself."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

from lab_story import DIES, losses, result, story

from barnabas.lab.report.page import page
from barnabas.lab.report.picture import LEFT, RIGHT, picture

SVG = re.compile(r"<svg.*?</svg>", re.DOTALL)


def drawn(lost: int = 3) -> ElementTree.Element:
    return ElementTree.fromstring(picture(story(), losses(lost), title="a <title>"))


def rects(kind: str) -> list[ElementTree.Element]:
    return [each for each in drawn().iter("rect") if each.get("class") == kind]


def test_the_page_loads_nothing() -> None:
    text = page([(result(), story())])

    assert not re.findall(r"(?:src|href)=\"(?!#)|url\(|@import|<script|https?:", text)


def test_every_tag_is_closed() -> None:
    open_tags: list[str] = []

    class Checker(HTMLParser):
        def handle_starttag(self, tag: str, attrs: object) -> None:
            if tag not in ("meta", "rect", "path", "circle", "br"):
                open_tags.append(tag)

        def handle_endtag(self, tag: str) -> None:
            if tag not in ("meta", "rect", "path", "circle", "br"):
                assert open_tags.pop() == tag

    Checker().feed(page([(result(), story()), (result(lost=0), story())]))
    assert open_tags == []


def test_what_people_wrote_is_text_and_never_markup() -> None:
    assert "broker 1 killed &lt;by us&gt;" in page([(result(), story())])
    assert "<by us>" not in page([(result(), story())])


def test_the_picture_is_well_formed_and_within_its_frame() -> None:
    for each in drawn().iter("rect"):
        assert LEFT <= float(each.get("x", "")) <= RIGHT
        assert float(each.get("x", "")) + float(each.get("width", "")) <= RIGHT + 0.6


def test_a_lane_changes_its_colour_with_its_leader() -> None:
    leaders = [each for each in drawn().iter("rect") if (each.get("height") == "17")]

    assert [each.get("class") for each in leaders] == ["b0", "down", "b1"]
    dies_at = LEFT + (RIGHT - LEFT) * DIES / 10
    assert abs(float(leaders[1].get("x", "")) - dies_at) < 1


def test_a_broker_that_is_down_and_a_replica_out_of_sync_are_told_apart() -> None:
    assert any("broker 1: down" in (each.findtext("title") or "") for each in rects("down"))
    assert any("broker 1: not in sync" in (each.findtext("title") or "") for each in rects("out"))


def test_losses_are_drawn_where_the_records_were_stored() -> None:
    marks = [each for each in drawn().iter("path") if each.get("class") == "lost"]

    assert [each.findtext("title") for each in marks] == [
        "3 records that got lost were stored here"
    ]
    assert "3 lost" in [each.text for each in drawn().iter("text")]
    assert not [each for each in drawn(lost=0).iter("path") if each.get("class") == "lost"]


def test_flags_and_the_list_below_have_the_same_numbers() -> None:
    text = page([(result(), story())])

    assert re.findall(r"<text x=[^>]+>(\d+)</text></g>", text) == ["1", "2", "3"]
    assert '<td class="time">5.0 s</td><td class="time">1</td>' in text


def test_several_runs_have_an_overview() -> None:
    text = page([(result(), story()), (result(lost=0), story())])

    assert text.count("<section") == 2
    assert '<a href="#run-2">3.2b</a>' in text
    assert "1 of 2 runs came out as predicted" in text
    assert len(SVG.findall(text)) == 2
