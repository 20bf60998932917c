"""Quotas and SCRAM credentials of users and clients: look at them, change them.

Through our own codec.  A password never leaves this process: brokers get what is made of it with a
salt.
"""

from __future__ import annotations

import enum
import hashlib
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from barnabas.client.brokers import Brokers, check_code
from barnabas.protocol.messages import (
    alter_client_quotas,
    alter_user_scram_credentials,
    describe_client_quotas,
    describe_user_scram_credentials,
)

EXACT, DEFAULT, ANY = 0, 1, 2
SALT_BYTES = 32
RESOURCE_NOT_FOUND = 91

Entity = tuple[tuple[str, str | None], ...]
"""Kinds (`user`, `client-id`, `ip`) with a name each; None is whoever has no entry of its own."""


class Mechanism(enum.IntEnum):
    """Ways to check a password, by the number that they have in requests."""

    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2

    @property
    def text(self) -> str:
        return self.name.replace("_", "-")

    @property
    def digest(self) -> str:
        return "sha256" if self is Mechanism.SCRAM_SHA_256 else "sha512"


MECHANISMS = {each.text: each for each in Mechanism}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """One part of an entity that is looked for: by name, or None; or any, if `is_any`."""

    kind: str
    name: str | None = None
    is_any: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Quotas:
    entity: Entity
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Password:
    """A new credential."""

    mechanism: Mechanism
    iterations: int
    password: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """What a broker tells of one."""

    mechanism: str
    iterations: int


@dataclass(slots=True)
class QuotaAdmin:
    """One thread; every call blocks until the broker has answered, or raises `ClientError`."""

    brokers: Brokers

    def quotas(self, wanted: Sequence[Wanted], *, strict: bool) -> list[Quotas]:
        """Of entities that have all these parts; and, if strict, no others."""
        answer = self.brokers.first.call(
            describe_client_quotas.DescribeClientQuotasRequest(
                components=[_component(each) for each in wanted], strict=strict
            ),
            describe_client_quotas.DescribeClientQuotasResponse,
        )
        check_code(answer.error_code, answer.error_message)
        return [
            Quotas(
                entity=tuple((part.entity_type, part.entity_name) for part in entry.entity),
                values={each.key: each.value for each in entry.values},
            )
            for entry in answer.entries or ()
        ]

    def alter_quotas(
        self, entity: Entity, *, put: Mapping[str, float], remove: Collection[str]
    ) -> None:
        ops = [alter_client_quotas.OpData(key=key, value=value) for key, value in put.items()]
        ops += [alter_client_quotas.OpData(key=key, remove=True) for key in remove]
        answer = self.brokers.controller().call(
            alter_client_quotas.AlterClientQuotasRequest(
                entries=[
                    alter_client_quotas.RequestEntryData(
                        entity=[
                            alter_client_quotas.EntityData(entity_type=kind, entity_name=name)
                            for kind, name in entity
                        ],
                        ops=ops,
                    )
                ]
            ),
            alter_client_quotas.AlterClientQuotasResponse,
        )
        for entry in answer.entries:
            check_code(entry.error_code, entry.error_message)

    def credentials(self, users: Sequence[str] | None) -> dict[str, list[Credential]]:
        """Of these users, or of all; users without any are left out."""
        answer = self.brokers.first.call(
            describe_user_scram_credentials.DescribeUserScramCredentialsRequest(
                users=None
                if users is None
                else [describe_user_scram_credentials.UserName(name=each) for each in users]
            ),
            describe_user_scram_credentials.DescribeUserScramCredentialsResponse,
        )
        check_code(answer.error_code, answer.error_message)
        found = {}
        for result in answer.results:
            if result.error_code == RESOURCE_NOT_FOUND:
                continue
            check_code(result.error_code, result.error_message)
            found[result.user] = [
                Credential(mechanism=_mechanism(each.mechanism), iterations=each.iterations)
                for each in result.credential_infos
            ]
        return found

    def alter_credentials(
        self, user: str, *, put: Sequence[Password], remove: Collection[Mechanism]
    ) -> None:
        """One after the other: Apache Kafka takes only one of a user in a request."""
        for mechanism in remove:
            self._alter_credentials(
                deletions=[
                    alter_user_scram_credentials.ScramCredentialDeletion(
                        name=user, mechanism=mechanism
                    )
                ]
            )
        for password in put:
            self._alter_credentials(
                upsertions=[_upsertion(user, password, secrets.token_bytes(SALT_BYTES))]
            )

    def _alter_credentials(
        self,
        *,
        deletions: Sequence[alter_user_scram_credentials.ScramCredentialDeletion] = (),
        upsertions: Sequence[alter_user_scram_credentials.ScramCredentialUpsertion] = (),
    ) -> None:
        answer = self.brokers.controller().call(
            alter_user_scram_credentials.AlterUserScramCredentialsRequest(
                deletions=list(deletions), upsertions=list(upsertions)
            ),
            alter_user_scram_credentials.AlterUserScramCredentialsResponse,
        )
        for result in answer.results:
            check_code(result.error_code, result.error_message)


def _component(wanted: Wanted) -> describe_client_quotas.ComponentData:
    named = DEFAULT if wanted.name is None else EXACT
    return describe_client_quotas.ComponentData(
        entity_type=wanted.kind, match_type=ANY if wanted.is_any else named, match=wanted.name
    )


def _upsertion(
    user: str, password: Password, salt: bytes
) -> alter_user_scram_credentials.ScramCredentialUpsertion:
    return alter_user_scram_credentials.ScramCredentialUpsertion(
        name=user,
        mechanism=password.mechanism,
        iterations=password.iterations,
        salt=salt,
        salted_password=hashlib.pbkdf2_hmac(
            password.mechanism.digest, password.password.encode(), salt, password.iterations
        ),
    )


def _mechanism(number: int) -> str:
    known = [each.text for each in Mechanism if each == number]
    return known[0] if known else f"UNKNOWN({number})"
