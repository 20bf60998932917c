"""The error table against two other implementations, and the way from exception to code."""

from __future__ import annotations

import pickle
import re
import warnings

import pytest
from kio.schema.errors import ErrorCode as KioCode

from barnabas.base import errors
from barnabas.base.errors import ApiError, ErrorCode, code_for, error_for

KAFKA_PYTHON_CALLS_IT = {
    ErrorCode.NONE: "NO_ERROR",
    ErrorCode.UNKNOWN_SERVER_ERROR: "UNKNOWN",
    ErrorCode.NOT_LEADER_OR_FOLLOWER: "NOT_LEADER_FOR_PARTITION",
    ErrorCode.MESSAGE_TOO_LARGE: "MESSAGE_SIZE_TOO_LARGE",
    ErrorCode.INVALID_TOPIC_EXCEPTION: "INVALID_TOPIC",
    ErrorCode.INVALID_REPLICA_ASSIGNMENT: "INVALID_REPLICATION_ASSIGNMENT",
}


def leaf_classes() -> list[type[ApiError]]:
    return [
        value
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, ApiError) and value is not ApiError
    ]


def test_codes_are_dense_from_minus_one() -> None:
    assert sorted(ErrorCode) == list(range(-1, 137))


@pytest.mark.parametrize("theirs", list(KioCode), ids=lambda code: code.name)
def test_name_number_and_retriability_are_kios(theirs: KioCode) -> None:
    ours = ErrorCode(theirs.value)

    assert ours.name == theirs.name.upper()
    assert ours.retriable == theirs.retriable


def test_names_and_numbers_are_kafka_pythons() -> None:
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        import kafka.errors
    theirs = {
        error.errno: error.message
        for error in vars(kafka.errors).values()
        if isinstance(error, type)
        and issubclass(error, kafka.errors.BrokerResponseError)
        and error.errno is not None
    }

    assert len(theirs) > 100
    for number, name in theirs.items():
        code = ErrorCode(number)
        assert name == KAFKA_PYTHON_CALLS_IT.get(code, code.name)


@pytest.mark.parametrize("code", list(ErrorCode), ids=lambda code: code.name)
def test_every_code_has_a_sentence_of_its_own(code: ErrorCode) -> None:
    assert re.fullmatch(r"[A-Za-z].*\.", code.text)
    assert [other for other in ErrorCode if other.text == code.text] == [code]


@pytest.mark.parametrize("code", [c for c in ErrorCode if c], ids=lambda code: code.name)
def test_every_code_but_none_has_an_exception(code: ErrorCode) -> None:
    error = error_for(code)

    assert code_for(error) is code
    assert error.message == str(error) == code.text
    assert type(error_for(code, "why")) is type(error)
    assert str(error_for(code, "why")) == "why"


def test_class_names_are_the_codes_names_in_camel_case() -> None:
    shortened = {"NotLeader", "StorageFailed", "InvalidTopic", "NetworkFailed"}
    for leaf in leaf_classes():
        if leaf.__name__ not in shortened:
            assert leaf.__name__ == leaf.code.name.title().replace("_", "")


def test_long_names_of_shortened_classes_are_the_same_classes() -> None:
    assert errors.NotLeaderOrFollower is errors.NotLeader
    assert errors.KafkaStorageError is errors.StorageFailed
    assert errors.NotLeader.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert errors.StorageFailed.code is ErrorCode.KAFKA_STORAGE_ERROR


def test_an_unknown_code_from_elsewhere_is_told_by_its_number() -> None:
    error = error_for(9999)

    assert code_for(error) is ErrorCode.UNKNOWN_SERVER_ERROR
    assert "9999" in str(error)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (TimeoutError(), ErrorCode.REQUEST_TIMED_OUT),
        (ConnectionResetError(), ErrorCode.UNKNOWN_SERVER_ERROR),
        (OSError(28, "No space left"), ErrorCode.UNKNOWN_SERVER_ERROR),
        (KeyError("x"), ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_only_a_timeout_has_a_code_without_being_an_api_error(
    error: Exception, code: ErrorCode
) -> None:
    assert code_for(error) is code


def test_a_class_below_a_leaf_keeps_the_leafs_code() -> None:
    class Narrower(errors.InvalidRecord):
        pass

    assert code_for(Narrower("x")) is ErrorCode.INVALID_RECORD
    assert type(error_for(ErrorCode.INVALID_RECORD)) is errors.InvalidRecord


def test_errors_survive_pickling() -> None:
    error = pickle.loads(pickle.dumps(errors.OffsetOutOfRange("offset 7")))

    assert isinstance(error, errors.OffsetOutOfRange)
    assert error.message == "offset 7"
