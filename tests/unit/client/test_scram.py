from __future__ import annotations

import pytest

from barnabas.client.scram import ScramClient, ScramError

NONCE = "rOprNGfwEbeRWgbNEkqO"
SERVER_NONCE = f"{NONCE}%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
SERVER_FIRST = f"r={SERVER_NONCE},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".encode()
PROOF = "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
SERVER_FINAL = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def client(username: str = "user", password: str = "pencil") -> ScramClient:
    return ScramClient(mechanism="SCRAM-SHA-256", username=username, password=password, nonce=NONCE)


def test_the_exchange_of_rfc_7677() -> None:
    one = client()
    assert one.first() == f"n,,n=user,r={NONCE}".encode()
    assert one.final(SERVER_FIRST) == f"c=biws,r={SERVER_NONCE},p={PROOF}".encode()
    one.check(SERVER_FINAL)


def test_a_name_with_commas_and_equals_signs_is_escaped() -> None:
    assert client("a=b,c").first() == f"n,,n=a=3Db=2Cc,r={NONCE}".encode()


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (SERVER_FIRST.replace(NONCE.encode(), b"other"), "did not add to the nonce"),
        (f"r={NONCE},s=AAAA,i=4096".encode(), "did not add to the nonce"),
        (SERVER_FIRST.replace(b"i=4096", b"i=1"), "too few iterations"),
        (SERVER_FIRST.replace(b"i=4096", b"i=many"), "too few iterations"),
        (SERVER_FIRST.replace(b"s=W22", b"s=?22"), "not in base64"),
        (b"\xff", "no text"),
        (b"", "did not add to the nonce"),
    ],
)
def test_a_server_that_makes_no_sense_is_not_answered(answer: bytes, complaint: str) -> None:
    with pytest.raises(ScramError, match=complaint):
        client().final(answer)


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (b"e=invalid-proof", "invalid-proof"),
        (SERVER_FINAL.replace(b"6rri", b"7rri"), "does not know the password"),
        (b"", "does not know the password"),
    ],
)
def test_a_server_that_does_not_know_the_password_is_not_trusted(
    answer: bytes, complaint: str
) -> None:
    one = client()
    one.final(SERVER_FIRST)
    with pytest.raises(ScramError, match=complaint):
        one.check(answer)
