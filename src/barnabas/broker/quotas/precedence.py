"""Which of several quotas counts for a client, and with whom it is shared.  Pure.

The most special one: a user's before a client id's, a name before the default.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from barnabas.controller.decider.client_quotas import CLIENT_ID, USER

if TYPE_CHECKING:
    from barnabas.controller.image import QuotaEntity

Owner = tuple[str | None, str | None]
"""User and client id of those who share a quota; None where it does not matter."""
Quotas = Mapping["QuotaEntity", Mapping[str, float]]


def find(quotas: Quotas, key: str, user: str, client_id: str) -> tuple[Owner, float] | None:
    """The quota of that name for this client, and whose it is; None if there is no limit."""
    for entity, owner in _candidates(user, client_id):
        value = quotas.get(entity, {}).get(key)
        if value is not None:
            return owner, value
    return None


def _candidates(user: str, client_id: str) -> Iterator[tuple[QuotaEntity, Owner]]:
    for user_part in ((USER, user), (USER, None)):
        yield ((CLIENT_ID, client_id), user_part), (user, client_id)
        yield ((CLIENT_ID, None), user_part), (user, client_id)
        yield (user_part,), (user, None)
    yield ((CLIENT_ID, client_id),), (None, client_id)
    yield ((CLIENT_ID, None),), (None, client_id)
