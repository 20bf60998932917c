"""Messages here are those of Apache Kafka's controller; the keys those of RFC 5802 and 7677."""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import Any

import pytest

from barnabas.base.errors import ErrorCode, NotController
from barnabas.controller import decider
from barnabas.protocol.messages import metadata_records as mr
from barnabas.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)

SHA_256, SHA_512 = 1, 2


@pytest.fixture
def world(single: Any) -> Any:
    single.replay(mr.FeatureLevelRecord(name="metadata.version", feature_level=25))
    return single


def put(name: str, mechanism: int = SHA_256, iterations: int = 4096) -> ScramCredentialUpsertion:
    return ScramCredentialUpsertion(
        name=name,
        mechanism=mechanism,
        iterations=iterations,
        salt=b"salt",
        salted_password=b"salted",
    )


def delete(name: str, mechanism: int = SHA_256) -> ScramCredentialDeletion:
    return ScramCredentialDeletion(name=name, mechanism=mechanism)


def request(
    *changes: ScramCredentialUpsertion | ScramCredentialDeletion,
) -> AlterUserScramCredentialsRequest:
    return AlterUserScramCredentialsRequest(
        deletions=[each for each in changes if isinstance(each, ScramCredentialDeletion)],
        upsertions=[each for each in changes if isinstance(each, ScramCredentialUpsertion)],
    )


def outcome(response: Any) -> dict[str, tuple[int, str | None]]:
    return {each.user: (each.error_code, each.error_message) for each in response.results}


def test_the_keys_are_those_of_the_standard(world: Any) -> None:
    """The exchange that RFC 7677 shows: user `user`, password `pencil`."""
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    upsertion = put("user")
    upsertion.salt = salt
    upsertion.salted_password = hashlib.pbkdf2_hmac("sha256", b"pencil", salt, 4096)

    world.do(request(upsertion))

    made = world.image.scram["user", SHA_256]
    said = (
        b"n=user,r=rOprNGfwEbeRWgbNEkqO,"
        b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
        b"s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,"
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    )
    proof = base64.b64decode("dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
    shown = base64.b64decode("6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")
    signature = hmac_sha256(made.stored_key, said)
    client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=True))
    assert hashlib.sha256(client_key).digest() == made.stored_key
    assert hmac_sha256(made.server_key, said) == shown
    assert (made.salt, made.iterations) == (salt, 4096)


def hmac_sha256(key: bytes, data: bytes) -> bytes:
    return hmac.digest(key, data, "sha256")


def test_longer_keys_for_the_longer_digest(world: Any) -> None:
    world.do(request(put("u", SHA_512, 16384)))

    made = world.image.scram["u", SHA_512]
    assert (len(made.stored_key), len(made.server_key)) == (64, 64)
    assert b"salted" not in (made.stored_key, made.server_key)


def test_a_user_can_have_both_and_lose_one(world: Any) -> None:
    world.do(request(put("u", SHA_256)))
    world.do(request(put("u", SHA_512)))
    response = world.do(request(delete("u", SHA_256)))

    assert outcome(response) == {"u": (0, None)}
    assert set(world.image.scram) == {("u", SHA_512)}


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        (put(""), ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty"),
        (delete(""), ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty"),
        (put("u", 0), ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism"),
        (delete("u", 3), ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism"),
        (put("u", 1, 4095), ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations"),
        (put("u", 2, 16385), ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations"),
        (
            delete("u"),
            ErrorCode.RESOURCE_NOT_FOUND,
            "Attempt to delete a user credential that does not exist",
        ),
    ],
)
def test_what_is_refused_and_why(world: Any, change: Any, code: ErrorCode, message: str) -> None:
    decision = world.decide(request(change, put("other")))

    assert outcome(decision.response) == {change.name: (int(code), message), "other": (0, None)}
    assert [record.name for record in decision.records] == ["other"]


@pytest.mark.parametrize(
    "changes",
    [
        [put("u", SHA_256), put("u", SHA_512)],
        [delete("u", SHA_256), put("u", SHA_512)],
        [delete("u", SHA_256), delete("u", SHA_256), put("u", SHA_256)],
    ],
)
def test_a_user_is_changed_once_in_a_request_or_not_at_all(world: Any, changes: list[Any]) -> None:
    world.do(request(put("u", SHA_256)))

    decision = world.decide(request(*changes))

    message = "A user credential cannot be altered twice in the same request"
    assert outcome(decision.response) == {"u": (int(ErrorCode.DUPLICATE_RESOURCE), message)}
    assert decision.records == ()


def test_an_older_cluster_keeps_no_credentials(world: Any) -> None:
    world.replay(mr.FeatureLevelRecord(name="metadata.version", feature_level=10))

    code, message = outcome(world.do(request(put("u"))))["u"]

    assert code == int(ErrorCode.UNSUPPORTED_VERSION)
    assert message == "The current metadata.version does not support SCRAM"


def test_a_refusal_is_told_for_each_user() -> None:
    refused: Any = decider.refuse(request(put("u"), delete("u"), put("v")), NotController())

    assert [each.user for each in refused.results] == ["u", "v"]
    assert {each.error_code for each in refused.results} == {int(ErrorCode.NOT_CONTROLLER)}


def test_no_secret_is_shown_in_logs(world: Any) -> None:
    decision = world.decide(request(put("u")))

    text = repr(decision.records) + repr(request(put("u")))
    assert "salted'" not in text
    assert decision.records[0].stored_key.hex() not in text
