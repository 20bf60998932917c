"""How text becomes a value and back, kind by kind."""

from __future__ import annotations

import pytest

from barnabas.base.settings.kinds import (
    Boolean,
    Class,
    Double,
    Int,
    Kind,
    List,
    Long,
    Password,
    Servers,
    Short,
    String,
    ThrottledReplicas,
    Value,
    java_double,
)


@pytest.mark.parametrize(
    ("kind", "text", "value", "shown"),
    [
        (Int(), " 7\t", 7, "7"),
        (Int(), "+5", 5, "5"),
        (Int(), "-2147483648", -(2**31), "-2147483648"),
        (Int(1, 9, also=-1), "-1", -1, "-1"),
        (Short(), "32767", 32767, "32767"),
        (Long(), "9223372036854775807", 2**63 - 1, "9223372036854775807"),
        (Double(), "1", 1.0, "1.0"),
        (Double(), ".30", 0.3, "0.3"),
        (Double(), "1e7", 1e7, "1.0E7"),
        (Double(), "5.d", 5.0, "5.0"),
        (Double(), "Infinity", float("inf"), "Infinity"),
        (Boolean(), " TRUE ", True, "true"),
        (Boolean(), "False", False, "false"),
        (String(), "  x y ", "x y", "x y"),
        (String("a", "b", any_case=True), "B", "B", "B"),
        (List(), "a , b,c", ("a", "b", "c"), "a,b,c"),
        (List(), "a,b,a", ("a", "b"), "a,b"),
        (List(may_be_empty=True), "  ", (), ""),
        (ThrottledReplicas(), "*", ("*",), "*"),
        (ThrottledReplicas(), "0:1, 1:2", ("0:1", "1:2"), "0:1,1:2"),
        (Servers(), "[::1]:9093", ("[::1]:9093",), "[::1]:9093"),
        (Servers(with_ids=True), "1@a:9093", ("1@a:9093",), "1@a:9093"),
        (Password(), " hush ", "hush", "[hidden]"),
        (Class(), " org.example.A ", "org.example.A", "org.example.A"),
    ],
)
def test_text_is_read_and_shown_as_the_reference_broker_does(
    kind: Kind, text: str, value: Value, shown: str
) -> None:
    assert kind.parse(text) == value
    assert kind.render(kind.parse(text)) == shown


@pytest.mark.parametrize(
    ("kind", "text", "reason"),
    [
        (Int(), "", "whole number"),
        (Int(), "1_000", "whole number"),
        (Int(), "1.0", "whole number"),
        (Int(), "0x10", "whole number"),
        (Int(), "٣", "whole number"),
        (Int(), "2147483648", "does not fit"),
        (Short(), "32768", "does not fit"),
        (Long(), "9223372036854775808", "does not fit"),
        (Int(1), "0", "at least 1"),
        (Int(1, 9), "10", "at most 9"),
        (Int(1, 9, also=-1), "0", "at least 1 or -1"),
        (Double(), "one", "a number"),
        (Double(), "1_0", "a number"),
        (Double(0, 1), "1.5", "at most 1"),
        (Double(0, 1), "-0.5", "at least 0"),
        (Double(0, 1), "NaN", "at least 0"),
        (Boolean(), "yes", "true or false"),
        (String("a", "b"), "B", "one of a, b"),
        (String("a", "b", any_case=True), "c", "any case"),
        (String(non_empty=True), " ", "not be empty"),
        (List(), "", "at least one item"),
        (List(), "a,,b", "empty item"),
        (List("a", "b"), "a,c", "one of a, b"),
        (ThrottledReplicas(), "*,1:2", "partition:broker"),
        (ThrottledReplicas(), "a:b", "partition:broker"),
        (Servers(), "host", "host:port"),
        (Servers(with_ids=True), "host:1", "id@host:port"),
    ],
)
def test_what_is_not_valid_is_refused_with_the_reason(kind: Kind, text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        kind.parse(text)


@pytest.mark.parametrize(
    ("kind", "rule"),
    [
        (Int(), ""),
        (Int(1), "at least 1"),
        (Int(high=5), "at most 5"),
        (Int(1, 9, also=-1), "1 to 9 or -1"),
        (Double(), ""),
        (Double(0, 1), "0 to 1"),
        (String(), ""),
        (String("a", "b", any_case=True), "one of a, b (any case)"),
        (String(non_empty=True), "not empty"),
        (List("a", "b"), "not empty of a, b"),
        (List(may_be_empty=True), ""),
        (Servers(with_ids=True), "of id@host:port"),
        (ThrottledReplicas(), "`*` or partition:broker pairs"),
    ],
)
def test_the_rule_says_what_is_valid(kind: Kind, rule: str) -> None:
    assert kind.rule == rule


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (0.001, "0.001"),
        (0.0009, "9.0E-4"),
        (9999999.9, "9999999.9"),
        (1e7, "1.0E7"),
        (12345678.9, "1.23456789E7"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (-2.5e-10, "-2.5E-10"),
        (float("nan"), "NaN"),
        (float("-inf"), "-Infinity"),
    ],
)
def test_doubles_are_printed_the_java_way(value: float, text: str) -> None:
    assert java_double(value) == text


def test_a_secret_is_usable_but_does_not_show_itself() -> None:
    secret = Password().parse("hush")

    assert secret == "hush"
    assert "hush" not in f"{[secret]!r}"
