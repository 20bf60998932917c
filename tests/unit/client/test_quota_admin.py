from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import pytest
from fake_brokers import PLAIN, FakeCluster, install

from barnabas.client.brokers import Brokers
from barnabas.client.errors import RefusedError
from barnabas.client.quota_admin import (
    ANY,
    DEFAULT,
    EXACT,
    RESOURCE_NOT_FOUND,
    Credential,
    Mechanism,
    Password,
    QuotaAdmin,
    Quotas,
    Wanted,
)
from barnabas.protocol.messages import (
    alter_client_quotas,
    alter_user_scram_credentials,
    describe_client_quotas,
    describe_user_scram_credentials,
)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    return install(monkeypatch)


@pytest.fixture
def admin(cluster: FakeCluster) -> Iterator[QuotaAdmin]:
    with Brokers.connect(PLAIN, timeout_s=1) as brokers:
        yield QuotaAdmin(brokers)


def test_quotas_are_looked_for_by_name_by_default_or_all(
    cluster: FakeCluster, admin: QuotaAdmin
) -> None:
    def answer(broker: int, request: Any) -> Any:
        entity = describe_client_quotas.EntityData(entity_type="user", entity_name=None)
        value = describe_client_quotas.ValueData(key="k", value=1.5)
        entry = describe_client_quotas.EntryData(entity=[entity], values=[value])
        return describe_client_quotas.DescribeClientQuotasResponse(
            error_message=None, entries=[entry]
        )

    cluster.respond[describe_client_quotas.DescribeClientQuotasRequest] = answer
    wanted = [
        Wanted(kind="user", name="u"),
        Wanted(kind="client-id"),
        Wanted(kind="ip", is_any=True),
    ]
    assert admin.quotas(wanted, strict=True) == [
        Quotas(entity=(("user", None),), values={"k": 1.5})
    ]
    ((_, request),) = cluster.sent(describe_client_quotas.DescribeClientQuotasRequest)
    assert request.strict
    assert [(c.entity_type, c.match_type, c.match) for c in request.components] == [
        ("user", EXACT, "u"),
        ("client-id", DEFAULT, None),
        ("ip", ANY, None),
    ]


@pytest.mark.parametrize("code", [0, 42])
def test_quotas_are_set_and_removed(cluster: FakeCluster, admin: QuotaAdmin, code: int) -> None:
    cluster.respond[alter_client_quotas.AlterClientQuotasRequest] = lambda broker, request: (
        alter_client_quotas.AlterClientQuotasResponse(
            entries=[
                alter_client_quotas.ResponseEntryData(error_code=code, error_message="too much")
            ]
        )
    )
    entity = (("user", "u"), ("client-id", None))
    if code:
        with pytest.raises(RefusedError, match=r"^too much$"):
            admin.alter_quotas(entity, put={"a": 1.0}, remove=["b"])
    else:
        admin.alter_quotas(entity, put={"a": 1.0}, remove=["b"])
    ((_, request),) = cluster.sent(alter_client_quotas.AlterClientQuotasRequest)
    (entry,) = request.entries
    assert [(e.entity_type, e.entity_name) for e in entry.entity] == list(entity)
    assert [(op.key, op.value, op.remove) for op in entry.ops] == [
        ("a", 1.0, False),
        ("b", 0.0, True),
    ]


def test_users_without_credentials_are_left_out(cluster: FakeCluster, admin: QuotaAdmin) -> None:
    result = describe_user_scram_credentials.DescribeUserScramCredentialsResult
    info = describe_user_scram_credentials.CredentialInfo

    def answer(broker: int, request: Any) -> Any:
        return describe_user_scram_credentials.DescribeUserScramCredentialsResponse(
            error_message=None,
            results=[
                result(
                    user="u",
                    error_message=None,
                    credential_infos=[
                        info(mechanism=2, iterations=4096),
                        info(mechanism=9, iterations=1),
                    ],
                ),
                result(user="v", error_code=RESOURCE_NOT_FOUND, error_message="none"),
            ],
        )

    cluster.respond[describe_user_scram_credentials.DescribeUserScramCredentialsRequest] = answer
    assert admin.credentials(["u", "v"]) == {
        "u": [
            Credential(mechanism="SCRAM-SHA-512", iterations=4096),
            Credential(mechanism="UNKNOWN(9)", iterations=1),
        ]
    }
    assert admin.credentials(None).keys() == {"u"}
    asked = cluster.sent(describe_user_scram_credentials.DescribeUserScramCredentialsRequest)
    assert [request.users and len(request.users) for _, request in asked] == [2, None]


def test_passwords_leave_salted_and_one_by_one(cluster: FakeCluster, admin: QuotaAdmin) -> None:
    cluster.respond[alter_user_scram_credentials.AlterUserScramCredentialsRequest] = (
        lambda broker, request: alter_user_scram_credentials.AlterUserScramCredentialsResponse(
            results=[
                alter_user_scram_credentials.AlterUserScramCredentialsResult(error_message=None)
            ]
        )
    )
    put = [
        Password(mechanism=Mechanism.SCRAM_SHA_256, iterations=4096, password="geheim é"),
        Password(mechanism=Mechanism.SCRAM_SHA_512, iterations=5000, password="geheim é"),
    ]
    admin.alter_credentials("u", put=put, remove=[Mechanism.SCRAM_SHA_512])
    asked = cluster.sent(alter_user_scram_credentials.AlterUserScramCredentialsRequest)
    (_, first), *others = asked
    assert [(d.name, d.mechanism) for d in first.deletions] == [("u", 2)]
    salts = set()
    for (_, request), password in zip(others, put, strict=True):
        (sent,) = request.upsertions
        salts.add(sent.salt)
        assert (sent.name, sent.mechanism, sent.iterations) == (
            "u",
            password.mechanism,
            password.iterations,
        )
        assert sent.salted_password == hashlib.pbkdf2_hmac(
            password.mechanism.digest, "geheim é".encode(), sent.salt, password.iterations
        )
    assert len(salts) == 2
