"""What is known of a listener once it is bound."""

from __future__ import annotations

import pytest

from barnabas.broker.listeners import BoundListener


def listener(host: str = "127.0.0.1", protocol: str = "PLAINTEXT") -> BoundListener:
    return BoundListener(
        name="INSIDE",
        security_protocol=protocol,
        host=host,
        port=9092,
        advertised_host="broker",
        advertised_port=19092,
    )


@pytest.mark.parametrize(
    ("host", "text"),
    [("127.0.0.1", "INSIDE://127.0.0.1:9092"), ("::1", "INSIDE://[::1]:9092")],
)
def test_it_is_shown_as_where_it_listens(host: str, text: str) -> None:
    assert str(listener(host)) == text


@pytest.mark.parametrize(
    ("protocol", "direct"),
    [("PLAINTEXT", True), ("SASL_PLAINTEXT", True), ("SSL", False), ("SASL_SSL", False)],
)
def test_only_without_encryption_can_the_kernel_send_files(protocol: str, direct: bool) -> None:
    assert listener(protocol=protocol).uses_sendfile is direct
