"""Quotas, set and removed by hand: librdkafka has no call for it."""

from __future__ import annotations

from wire_client import WireClient

from barnabas.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    OpData,
    RequestEntryData,
)

CLIENT, USER, ADDRESS = "client-id", "user", "ip"


def alter_quota(client: WireClient, kind: str, name: str | None, **values: float | None) -> None:
    """Of one client id, user or address, or (None) of the default; None removes."""
    entry = RequestEntryData(
        entity=[EntityData(entity_type=kind, entity_name=name)],
        ops=[
            OpData(key=key, value=value or 0.0, remove=value is None)
            for key, value in values.items()
        ],
    )
    (answer,) = client.call(AlterClientQuotasRequest(entries=[entry]), 1).entries
    assert answer.error_code == 0, answer.error_message
