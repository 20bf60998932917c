from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.broker.directories import Directories
from barnabas.controller.image import ClusterImage, ImageChanges
from barnabas.protocol.messages import metadata_records as mr
from barnabas.protocol.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
    RequestDirectoryData,
    RequestPartitionData,
    RequestTopicData,
)
from barnabas.protocol.messages.broker_heartbeat import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
)

T = b"t" * 16
ONE, TWO = b"1" * 16, b"2" * 16
UNASSIGNED = bytes(15) + b"\1"


class Scene:
    """A broker with two log directories, a loop that is turned by hand, and a controller."""

    def __init__(self) -> None:
        self.planned: list[Any] = []
        self.asked: list[Any] = []
        self.answers: list[Any] = []
        self.image = ClusterImage("c")
        self.directories = [
            SimpleNamespace(directory_id=one, failure=None, meta=object()) for one in (ONE, TWO)
        ]
        self.places: dict[tuple[str, int], Any] = {}
        self.broker: Any = SimpleNamespace(
            node_id=1,
            epoch=7,
            image=self.image,
            controller=SimpleNamespace(submit=self._submit),
            logs=SimpleNamespace(
                directories=self.directories,
                get=lambda topic, index: self.places.get((topic, index)),
                directory_of=lambda log: self.directories[log.place],
                usable_directories=lambda: [d for d in self.directories if d.failure is None],
            ),
        )
        loop: Any = SimpleNamespace(call_soon=self.planned.append)
        self.told = Directories(self.broker, loop)
        self.image.replay(mr.TopicRecord(name="t", topic_id=T))

    def _submit(self, request: Any, done: Any) -> None:
        self.asked.append(request)
        self.answers.append(done)

    def add(self, index: int, *, place: int | None, known: bytes = UNASSIGNED) -> None:
        """A partition of this broker, with its log there unless it has none."""
        self.image.replay(
            mr.PartitionRecord(
                partition_id=index,
                topic_id=T,
                replicas=[2, 1],
                isr=[2, 1],
                leader=2,
                directories=[UNASSIGNED, known],
            )
        )
        if place is not None:
            self.places["t", index] = SimpleNamespace(topic_id=T, place=place)

    def turn(self) -> None:
        planned, self.planned[:] = list(self.planned), []
        for call in planned:
            call()


@pytest.fixture
def scene() -> Scene:
    return Scene()


def places(**indexes: list[int]) -> AssignReplicasToDirsRequest:
    return AssignReplicasToDirsRequest(
        broker_id=1,
        broker_epoch=7,
        directories=[
            RequestDirectoryData(
                id={"one": ONE, "two": TWO}[name],
                topics=[
                    RequestTopicData(
                        topic_id=T, partitions=[RequestPartitionData(partition_index=i) for i in at]
                    )
                ],
            )
            for name, at in indexes.items()
        ],
    )


def test_the_controller_is_told_once_where_new_replicas_are(scene: Scene) -> None:
    scene.add(0, place=0)
    scene.add(1, place=1)
    scene.add(2, place=1)
    scene.add(3, place=0, known=ONE)
    scene.add(4, place=None)

    scene.told.load()
    scene.told.apply(ImageChanges(partitions={(T, 0): None, (T, 2): None}))
    scene.turn()
    assert scene.asked == [places(one=[0], two=[1, 2])]

    scene.answers.pop()(AssignReplicasToDirsResponse())
    scene.told.tick()
    scene.turn()
    assert len(scene.asked) == 1


def test_what_changes_while_the_controller_is_asked_is_told_next(scene: Scene) -> None:
    scene.add(0, place=0)
    scene.told.load()
    scene.turn()
    scene.add(1, place=1)
    scene.told.apply(ImageChanges(partitions={(T, 1): None}))
    scene.turn()
    assert len(scene.asked) == 1

    scene.answers.pop()(AssignReplicasToDirsResponse())
    scene.turn()
    assert scene.asked[1:] == [places(two=[1])]


def test_what_could_not_be_told_is_tried_again(scene: Scene) -> None:
    scene.add(0, place=0)
    scene.told.load()
    scene.turn()

    scene.answers.pop()(AssignReplicasToDirsResponse(error_code=7))
    scene.turn()
    assert len(scene.asked) == 1
    scene.told.tick()
    scene.turn()
    assert scene.asked == [places(one=[0])] * 2


def test_a_broker_that_is_not_registered_yet_waits(scene: Scene) -> None:
    scene.broker.epoch = -1
    scene.add(0, place=0)
    scene.told.load()
    scene.turn()
    assert scene.asked == []

    scene.broker.epoch = 7
    scene.told.tick()
    scene.turn()
    assert scene.asked == [places(one=[0])]


def test_a_failed_directory_is_told_until_the_controller_knows(scene: Scene) -> None:
    scene.directories[1].failure = OSError()
    failed = BrokerHeartbeatRequest(
        broker_id=1,
        broker_epoch=7,
        current_metadata_offset=scene.image.applied_offset,
        offline_log_dirs=[TWO],
    )

    scene.told.failed()
    assert scene.asked == [failed]
    scene.answers.pop()(BrokerHeartbeatResponse(error_code=7))
    scene.told.tick()
    assert scene.asked == [failed, failed]
    scene.answers.pop()(BrokerHeartbeatResponse())
    scene.told.tick()
    assert len(scene.asked) == 2


def test_a_new_registration_is_told_again_what_has_failed(scene: Scene) -> None:
    scene.told.registered_again()
    assert scene.asked == []
    scene.directories[1].failure = OSError()

    scene.told.failed()
    scene.answers.pop()(BrokerHeartbeatResponse())
    scene.told.registered_again()

    assert [request.offline_log_dirs for request in scene.asked] == [[TWO], [TWO]]


def test_without_any_directory_left_there_is_nothing_to_tell(scene: Scene) -> None:
    for directory in scene.directories:
        directory.failure = OSError()
    scene.told.failed()
    assert scene.asked == []
