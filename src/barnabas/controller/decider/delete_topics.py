"""DeleteTopics: by name or by id; what is asked for twice, in whatever way, is not deleted."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from barnabas.base.errors import (
    ApiError,
    InvalidRequest,
    TopicDeletionDisabled,
    UnknownTopicId,
    UnknownTopicOrPartition,
    code_for,
)
from barnabas.base.ids import NO_ID
from barnabas.controller.decider.decision import Decision, Environment
from barnabas.protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from barnabas.protocol.messages.metadata_records import RemoveTopicRecord

if TYPE_CHECKING:
    from barnabas.controller.image import ClusterImage, TopicImage


def decide(
    image: ClusterImage, request: DeleteTopicsRequest, now_ms: int, env: Environment
) -> Decision:
    """Names in requests up to version 5, names or ids later."""
    asked = _asked(request)
    names = Counter(topic.name for topic in asked if topic.name is not None)
    ids = Counter(topic.topic_id for topic in asked if topic.name is None)
    results: list[DeletableTopicResult] = []
    deleted: list[bytes] = []
    for topic in {(t.name, t.topic_id): t for t in asked}.values():
        found = _look_up(image, topic)
        if topic.name is None and found is not None and names[found.name]:
            continue  # answered where it is asked for by name
        try:
            if not env.config.bool("delete.topic.enable"):
                raise TopicDeletionDisabled
            deletable = _check(topic, found, names, ids)
        except _TwiceError as error:
            results.append(_result(topic.name, error.topic_id, error))
        except ApiError as error:
            results.append(_result(topic.name, topic.topic_id, error))
        else:
            deleted.append(deletable.id)
            results.append(DeletableTopicResult(name=deletable.name, topic_id=deletable.id))
    return Decision(
        records=tuple(RemoveTopicRecord(topic_id=topic_id) for topic_id in deleted),
        response=DeleteTopicsResponse(responses=results),
    )


def refuse(request: DeleteTopicsRequest, error: Exception) -> DeleteTopicsResponse:
    """The answer when nothing of the request could be done."""
    asked = {(topic.name, topic.topic_id): topic for topic in _asked(request)}
    return DeleteTopicsResponse(
        responses=[_result(topic.name, topic.topic_id, error) for topic in asked.values()]
    )


def _asked(request: DeleteTopicsRequest) -> list[DeleteTopicState]:
    return [*request.topics, *(DeleteTopicState(name=name) for name in request.topic_names)]


def _look_up(image: ClusterImage, topic: DeleteTopicState) -> TopicImage | None:
    if topic.name is None:
        return image.topics_by_id.get(topic.topic_id)
    return image.topics.get(topic.name)


class _TwiceError(InvalidRequest):
    """Asked for by name and by id."""

    def __init__(self, topic_id: bytes) -> None:
        super().__init__("The provided topic name maps to an ID that was already supplied.")
        self.topic_id = topic_id


def _check(
    topic: DeleteTopicState,
    found: TopicImage | None,
    names: Counter[str],
    ids: Counter[bytes],
) -> TopicImage:
    """The topic that is to be deleted."""
    if topic.name is not None and topic.topic_id != NO_ID:
        raise InvalidRequest("You may not specify both topic name and topic id.")
    if topic.name is None:
        if topic.topic_id == NO_ID:
            raise InvalidRequest("Neither topic name nor id were specified.")
        if ids[topic.topic_id] > 1:
            raise InvalidRequest("Duplicate topic id.")
        if found is None:
            raise UnknownTopicId("This server does not host this topic ID.")
        return found
    if names[topic.name] > 1:
        raise InvalidRequest("Duplicate topic name.")
    if found is None:
        raise UnknownTopicOrPartition("This server does not host this topic-partition.")
    if ids[found.id]:
        raise _TwiceError(found.id)
    return found


def _result(name: str | None, topic_id: bytes, error: Exception) -> DeletableTopicResult:
    message = error.message if isinstance(error, ApiError) else None
    return DeletableTopicResult(
        name=name, topic_id=topic_id, error_code=code_for(error), error_message=message
    )
