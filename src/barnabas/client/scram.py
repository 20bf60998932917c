"""The client's side of SCRAM (RFC 5802, RFC 7677): what it says, and what it checks.  Pure."""

from __future__ import annotations

import base64
import hashlib
import hmac
from dataclasses import dataclass

DIGESTS = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
NO_BINDING = "n,,"
"""No channel binding, no other identity than that of the user."""
ITERATIONS_MIN = 4096


class ScramError(Exception):
    """The server's words cannot be right, or it does not know the password."""


@dataclass(slots=True, kw_only=True)
class ScramClient:
    """One exchange: `first`, `final` with the server's answer to it, `check` with the last one.

    `nonce` is chosen by the caller, anew for each exchange.
    """

    mechanism: str
    username: str
    password: str
    nonce: str
    _signature: bytes = b""

    def first(self) -> bytes:
        return f"{NO_BINDING}{self._first_bare()}".encode()

    def _first_bare(self) -> str:
        name = self.username.replace("=", "=3D").replace(",", "=2C")
        return f"n={name},r={self.nonce}"

    def final(self, answer: bytes) -> bytes:
        """What shows that we know the password, made for the server's nonce and salt."""
        fields = _fields(answer)
        nonce = fields.get("r", "")
        if not nonce.startswith(self.nonce) or nonce == self.nonce:
            raise ScramError("the server did not add to the nonce")
        salt, iterations = _decoded(fields.get("s", "")), fields.get("i", "")
        if not iterations.isdigit() or int(iterations) < ITERATIONS_MIN:
            raise ScramError(f"too few iterations: {iterations!r}")
        binding = base64.b64encode(NO_BINDING.encode()).decode()
        without_proof = f"c={binding},r={nonce}"
        said = f"{self._first_bare()},{answer.decode()},{without_proof}".encode()
        digest = DIGESTS[self.mechanism]
        salted = hashlib.pbkdf2_hmac(digest, self.password.encode(), salt, int(iterations))
        client_key = hmac.digest(salted, b"Client Key", digest)
        stored_key = hashlib.new(digest, client_key).digest()
        signature = hmac.digest(stored_key, said, digest)
        self._signature = hmac.digest(hmac.digest(salted, b"Server Key", digest), said, digest)
        proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        return f"{without_proof},p={base64.b64encode(proof).decode()}".encode()

    def check(self, answer: bytes) -> None:
        """The server must show that it knows the password, too."""
        fields = _fields(answer)
        if "e" in fields:
            raise ScramError(fields["e"])
        if not hmac.compare_digest(_decoded(fields.get("v", "")), self._signature):
            raise ScramError("the server does not know the password")


def _fields(answer: bytes) -> dict[str, str]:
    try:
        pairs = [part.partition("=") for part in answer.decode().split(",")]
    except UnicodeDecodeError:
        raise ScramError("the server's answer is no text") from None
    return {key: value for key, _, value in pairs}


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        raise ScramError("the server's answer is not in base64") from None
