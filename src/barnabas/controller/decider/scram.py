"""AlterUserScramCredentials (KIP-554): who may log in with a password that brokers do not know.

What travels is the salted password; what is kept are the two keys made of it, with which a client
can be checked but none can be imitated.  In one request a user is changed once, or not at all.
"""

from __future__ import annotations

import enum
import hashlib
import hmac
from typing import TYPE_CHECKING

from barnabas.base.errors import (
    ApiError,
    DuplicateResource,
    ResourceNotFound,
    UnacceptableCredential,
    UnsupportedSaslMechanism,
    UnsupportedVersion,
    code_for,
)
from barnabas.controller.decider.decision import Decision, Environment
from barnabas.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from barnabas.protocol.messages.metadata_records import (
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)

if TYPE_CHECKING:
    from barnabas.controller.image import ClusterImage
    from barnabas.protocol.message import Message

Change = ScramCredentialDeletion | ScramCredentialUpsertion

ITERATIONS_MIN = 4096
ITERATIONS_MAX = 16384
_SCRAM_SINCE = 11
"""The metadata.version (3.5-IV2) whose readers know these records."""


class Mechanism(enum.IntEnum):
    """By number on the wire."""

    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2

    @property
    def digest(self) -> str:
        return "sha256" if self is Mechanism.SCRAM_SHA_256 else "sha512"


def decide(
    image: ClusterImage, request: AlterUserScramCredentialsRequest, now_ms: int, env: Environment
) -> Decision:
    """Each user by itself."""
    outcomes: dict[str, Message | ApiError] = {}
    for change in _changes(request):
        known = outcomes.get(change.name)
        if known is None:
            outcomes[change.name] = _decide_one(image, change)
        elif not isinstance(known, ApiError):
            outcomes[change.name] = DuplicateResource(
                "A user credential cannot be altered twice in the same request"
            )
    return Decision(
        records=tuple(found for found in outcomes.values() if not isinstance(found, ApiError)),
        response=AlterUserScramCredentialsResponse(
            results=[
                _result(user, found if isinstance(found, ApiError) else None)
                for user, found in outcomes.items()
            ]
        ),
    )


def refuse(
    request: AlterUserScramCredentialsRequest, error: Exception
) -> AlterUserScramCredentialsResponse:
    """The answer when nothing of the request could be done."""
    users = dict.fromkeys(change.name for change in _changes(request))
    return AlterUserScramCredentialsResponse(results=[_result(user, error) for user in users])


def _changes(request: AlterUserScramCredentialsRequest) -> list[Change]:
    return [*request.deletions, *request.upsertions]


def _result(user: str, error: Exception | None) -> AlterUserScramCredentialsResult:
    return AlterUserScramCredentialsResult(
        user=user,
        error_code=0 if error is None else code_for(error),
        error_message=error.message if isinstance(error, ApiError) else None,
    )


def _decide_one(image: ClusterImage, change: Change) -> Message | ApiError:
    try:
        if image.features.get("metadata.version", 0) < _SCRAM_SINCE:
            raise UnsupportedVersion("The current metadata.version does not support SCRAM")
        if not change.name:
            raise UnacceptableCredential("Username must not be empty")
        mechanism = _mechanism(change.mechanism)
        if isinstance(change, ScramCredentialUpsertion):
            return _made(change, mechanism)
        if (change.name, mechanism.value) not in image.scram:
            raise ResourceNotFound("Attempt to delete a user credential that does not exist")
    except ApiError as error:
        return error
    return RemoveUserScramCredentialRecord(name=change.name, mechanism=mechanism)


def _mechanism(number: int) -> Mechanism:
    try:
        return Mechanism(number)
    except ValueError:
        raise UnsupportedSaslMechanism("Unknown SCRAM mechanism") from None


def _made(change: ScramCredentialUpsertion, mechanism: Mechanism) -> UserScramCredentialRecord:
    if change.iterations < ITERATIONS_MIN:
        raise UnacceptableCredential("Too few iterations")
    if change.iterations > ITERATIONS_MAX:
        raise UnacceptableCredential("Too many iterations")
    digest = mechanism.digest
    salted = bytes(change.salted_password)
    client_key = hmac.digest(salted, b"Client Key", digest)
    return UserScramCredentialRecord(
        name=change.name,
        mechanism=mechanism,
        salt=bytes(change.salt),
        stored_key=hashlib.new(digest, client_key).digest(),
        server_key=hmac.digest(salted, b"Server Key", digest),
        iterations=change.iterations,
    )
