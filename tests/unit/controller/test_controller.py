from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from barnabas.base.errors import ErrorCode, StorageFailed
from barnabas.base.settings import BrokerConfig
from barnabas.controller import decider
from barnabas.controller.bootstrap import initial_records
from barnabas.controller.controller import Controller
from barnabas.controller.decider.decision import Decision, Environment
from barnabas.controller.embedded_journal import EmbeddedJournal
from barnabas.controller.image import ClusterImage, ImageChanges
from barnabas.controller.journal import Done, Run, Snapshot
from barnabas.controller.journal_files import DirectoryFiles
from barnabas.controller.sessions import BrokerSessions
from barnabas.controller.work_queue import WorkQueue
from barnabas.protocol.message import Message
from barnabas.protocol.messages import metadata_records as mr
from barnabas.protocol.messages.api_versions import ApiVersionsRequest
from barnabas.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from barnabas.protocol.messages.broker_registration import BrokerRegistrationRequest, Listener
from barnabas.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState

CLUSTER = "cluster-of-the-test-00"


class FakeJournal:
    """A journal in memory; commits end when the test says so, or at once."""

    def __init__(self, *, at_once: bool = True) -> None:
        self.runs: list[Run] = []
        self.kept: Snapshot | None = None
        self.queued: list[Run] = []
        self.commits: list[int] = []
        self.waiting: list[Callable[[BaseException | None], None]] = []
        self.error: BaseException | None = None
        self.at_once = at_once
        self.snapshot_is_due = False
        self.closed = False
        self.epoch = 1

    @property
    def end_offset(self) -> int:
        return self.runs[-1].last_offset + 1 if self.runs else 0

    @property
    def is_empty(self) -> bool:
        return not self.runs

    def snapshot(self) -> Snapshot | None:
        return self.kept

    def read(self, offset: int) -> Iterator[Run]:
        return iter([run for run in self.runs if run.last_offset >= offset])

    def append(self, records: Sequence[Message], *, now_ms: int) -> int:
        last = self.queued[-1].last_offset if self.queued else self.end_offset - 1
        run = Run(records=tuple(records), last_offset=last + len(records), epoch=self.epoch)
        self.queued.append(run)
        return run.last_offset

    def commit(self, done: Done) -> None:
        self.commits.append(len(self.queued))

        def end(error: BaseException | None) -> None:
            if error is None:
                self.runs += self.queued
            self.queued = []
            done(error)

        self._end(end)

    def write_snapshot(self, records: Sequence[Message], *, now_ms: int, done: Done) -> None:
        self.snapshot_is_due = False

        def end(error: BaseException | None) -> None:
            if error is None:
                self.kept = Snapshot(
                    records=tuple(records), end_offset=self.end_offset, epoch=self.epoch
                )
            done(error)

        self._end(end)

    def _end(self, end: Callable[[BaseException | None], None]) -> None:
        if self.at_once:
            end(self.error)
        else:
            self.waiting.append(end)

    def finish(self, error: BaseException | None = None) -> None:
        self.waiting.pop(0)(error)

    def close(self) -> None:
        self.closed = True


class Scene:
    """A controller, its journal, a clock, and what was said in which order."""

    def __init__(self, journal: Any) -> None:
        self.now = 1_000
        self.journal = journal
        self.said: list[Any] = []
        self.sessions = BrokerSessions(9_000)
        config = BrokerConfig.from_properties({"node.id": "1"})
        self.controller = Controller(
            journal=journal,
            image=ClusterImage(CLUSTER),
            env=Environment(config=config, sessions=self.sessions, random=Random(1)),
            now_ms=lambda: self.now,
        )
        self.controller.follow(self._changed)

    @property
    def image(self) -> ClusterImage:
        return self.controller.image

    def _changed(self, image: ClusterImage, changes: ImageChanges) -> None:
        assert image is self.image
        self.said.append(("applied", sorted(t.name for t in changes.topics_created.values())))

    def submit(self, request: Message) -> list[Any]:
        """Where the answer will be."""
        answers: list[Any] = []

        def done(response: Message) -> None:
            answers.append(response)
            self.said.append(type(response).__name__.removesuffix("Response"))

        self.controller.submit(request, done)
        return answers

    def start_broker(self, broker_id: int = 1) -> int:
        """Register and unfence; the epoch."""
        (registered,) = self.submit(registration(broker_id))
        epoch: int = registered.broker_epoch
        self.beat(broker_id, epoch)
        self.said.clear()
        return epoch

    def pass_time(self, ms: int) -> None:
        """As a node does it: the controller has a look every second."""
        end = self.now + ms
        while self.now < end:
            self.now = min(self.now + 1_000, end)
            self.controller.tick()

    def beat(self, broker_id: int, epoch: int, **fields: bool) -> list[Any]:
        return self.submit(
            BrokerHeartbeatRequest(
                broker_id=broker_id,
                broker_epoch=epoch,
                current_metadata_offset=self.image.applied_offset,
                **fields,
            )
        )


def registration(broker_id: int = 1) -> BrokerRegistrationRequest:
    return BrokerRegistrationRequest(
        broker_id=broker_id,
        cluster_id=CLUSTER,
        incarnation_id=bytes([broker_id]) * 16,
        listeners=[Listener(name="IN", host="h", port=1)],
        rack=None,
    )


def create(*names: str) -> CreateTopicsRequest:
    return CreateTopicsRequest(
        topics=[CreatableTopic(name=n, num_partitions=1, replication_factor=1) for n in names]
    )


def delete(name: str) -> DeleteTopicsRequest:
    return DeleteTopicsRequest(topics=[DeleteTopicState(name=name)])


@pytest.fixture
def scene() -> Scene:
    """Broker 1 runs; commits end at once."""
    scene = Scene(FakeJournal())
    scene.controller.load(initial_records())
    scene.start_broker()
    return scene


@pytest.fixture
def slow(scene: Scene) -> Scene:
    """From here on, commits wait for the test."""
    scene.journal.at_once = False
    scene.journal.commits.clear()
    return scene


def test_without_a_worker_the_answer_is_there_when_submit_returns(scene: Scene) -> None:
    (response,) = scene.submit(create("t"))

    assert response.topics[0].error_code == 0
    assert scene.said == [("applied", ["t"]), "CreateTopics"]
    assert scene.image.applied_offset == scene.journal.end_offset - 1


def test_nothing_is_seen_before_it_is_committed(slow: Scene) -> None:
    answers = slow.submit(create("t"))

    assert (answers, slow.said, list(slow.image.topics)) == ([], [], [])
    slow.journal.finish()

    assert list(slow.image.topics) == ["t"]
    assert slow.said == [("applied", ["t"]), "CreateTopics"]


def test_requests_that_arrive_during_a_commit_share_the_next(slow: Scene) -> None:
    first = slow.submit(create("a"))
    others = [slow.submit(create(name)) for name in ("b", "c", "b")]
    assert slow.journal.commits == [1]

    slow.journal.finish()
    assert (len(first), [len(answers) for answers in others]) == (1, [0, 0, 0])
    assert slow.journal.commits == [1, 2]
    slow.journal.finish()

    codes = [answers[0].topics[0].error_code for answers in others]
    assert codes == [0, 0, ErrorCode.TOPIC_ALREADY_EXISTS]
    assert list(slow.image.topics) == ["a", "b", "c"]
    assert slow.said == [
        ("applied", ["a"]),
        "CreateTopics",
        ("applied", ["b"]),
        "CreateTopics",
        ("applied", ["c"]),
        "CreateTopics",
        "CreateTopics",
    ]


def test_a_decision_sees_those_before_it_in_its_group(slow: Scene) -> None:
    slow.submit(create("a"))
    made, gone = slow.submit(create("b")), slow.submit(delete("b"))

    slow.journal.finish()
    slow.journal.finish()

    assert made[0].topics[0].error_code == 0
    assert gone[0].responses[0].error_code == 0
    assert list(slow.image.topics) == ["a"]


def test_a_failed_write_is_answered_and_changes_nothing(
    slow: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    before = slow.image.dump()
    answers = slow.submit(create("a"))
    waiting = slow.submit(create("b"))

    with caplog.at_level(logging.ERROR):
        slow.journal.finish(StorageFailed("disk full"))

    (response,) = answers
    assert response.topics[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert response.topics[0].error_message == "disk full"
    assert slow.image.dump() == before
    assert "disk full" in caplog.text
    slow.journal.finish()
    assert waiting[0].topics[0].error_code == 0
    assert list(slow.image.topics) == ["b"]


def test_all_of_a_group_fail_together(slow: Scene) -> None:
    slow.submit(create("a"))
    group = [slow.submit(create("b")), slow.submit(create("b"))]
    slow.journal.finish()

    slow.journal.finish(OSError("not even a StorageFailed"))

    codes = [answers[0].topics[0].error_code for answers in group]
    assert codes == [ErrorCode.KAFKA_STORAGE_ERROR] * 2
    assert list(slow.image.topics) == ["a"]


def test_what_changes_nothing_needs_no_commit(slow: Scene) -> None:
    (response,) = slow.submit(delete("nope"))

    assert response.responses[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert slow.journal.commits == []


def test_a_request_from_within_an_answer_waits_for_its_turn(scene: Scene) -> None:
    nested: list[Any] = []

    def first_done(response: Message) -> None:
        scene.controller.submit(delete("a"), nested.append)
        assert nested == []

    scene.controller.submit(create("a"), first_done)

    assert nested[0].responses[0].error_code == 0
    assert list(scene.image.topics) == []


def test_requests_from_within_answers_may_go_on_for_ever(scene: Scene) -> None:
    left = 2_000

    def again(response: Message) -> None:
        nonlocal left
        left -= 1
        if left:
            scene.controller.submit(delete("nope"), again)

    scene.controller.submit(delete("nope"), again)

    assert left == 0


def test_a_request_from_within_an_answer_sees_the_whole_group(slow: Scene) -> None:
    seen: list[Any] = []
    slow.submit(create("a"))
    slow.controller.submit(create("b"), lambda _: slow.controller.submit(create("c"), seen.append))
    slow.submit(create("c"))
    slow.journal.finish()

    slow.journal.finish()

    assert seen[0].topics[0].error_code == ErrorCode.TOPIC_ALREADY_EXISTS


def test_the_first_records_are_committed_with_the_first_request() -> None:
    scene = Scene(FakeJournal(at_once=False))
    scene.controller.load(initial_records())
    assert scene.journal.commits == []

    scene.submit(registration())
    scene.journal.finish(StorageFailed("full"))
    assert scene.image.features == {}
    answers = scene.submit(registration())
    scene.journal.finish()

    assert scene.image.features["metadata.version"] == 25
    assert answers[0].broker_epoch == 3
    assert [len(run.records) for run in scene.journal.runs] == [3, 1]
    assert scene.journal.commits == [2, 2]


def test_a_journal_that_is_not_empty_gets_no_first_records(scene: Scene) -> None:
    scene.submit(create("t"))

    again = Scene(scene.journal)
    again.controller.load(initial_records())
    again.submit(create("u"))

    assert list(again.image.topics) == ["t", "u"]
    firsts = [r for run in scene.journal.runs for r in run.records]
    assert sum(isinstance(r, mr.FeatureLevelRecord) for r in firsts) == 3


def test_loading_starts_from_the_snapshot(scene: Scene) -> None:
    scene.submit(create("a"))
    scene.journal.snapshot_is_due = True
    scene.submit(create("b"))
    assert scene.journal.kept is not None
    scene.submit(create("c"))

    again = Scene(scene.journal)
    again.controller.load()

    assert again.image == scene.image
    assert len(scene.journal.kept.records) < len(scene.image.dump())


def test_during_a_snapshot_requests_wait(slow: Scene, caplog: pytest.LogCaptureFixture) -> None:
    slow.submit(create("a"))
    slow.journal.snapshot_is_due = True
    slow.journal.finish()
    answers = slow.submit(create("b"))
    assert slow.journal.commits == [1]

    with caplog.at_level(logging.WARNING):
        slow.journal.finish(StorageFailed("full"))
    assert "snapshot" in caplog.text
    assert slow.journal.kept is None
    assert slow.journal.commits == [1, 1]
    slow.journal.finish()

    assert answers[0].topics[0].error_code == 0


def test_a_fault_in_a_decider_is_answered_and_stays_alone(
    slow: Scene, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real = decider.decide
    tried: list[Message] = []

    def faulty(image: ClusterImage, request: Any, now_ms: int, env: Environment) -> Decision:
        decision = real(image, request, now_ms, env)
        match request.topics[0].name:
            case "crash":
                raise ZeroDivisionError
            case "nonsense" if not tried:  # records that cannot be replayed: the topic twice
                tried.append(request)
                return Decision(records=decision.records * 2, response=decision.response)
        return decision

    monkeypatch.setattr(decider, "decide", faulty)
    slow.submit(create("a"))
    names = ("b", "crash", "nonsense", "c", "nonsense")
    with caplog.at_level(logging.ERROR):
        group = [slow.submit(create(name)) for name in names]
        slow.journal.finish()
    slow.journal.finish()

    codes = [answers[0].topics[0].error_code for answers in group]
    assert codes == [0, ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.UNKNOWN_SERVER_ERROR, 0, 0]
    assert list(slow.image.topics) == ["a", "b", "c", "nonsense"]
    assert [len(run.records) for run in slow.journal.runs[-4:]] == [2, 2, 2, 2]
    assert caplog.text.count("a request could not be decided") == 2


def test_a_fault_in_a_callback_does_not_stop_the_others(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: Any) -> None:
        raise ZeroDivisionError

    heard: list[ImageChanges] = []
    scene.controller.follow(broken)
    scene.controller.follow(lambda _, changes: heard.append(changes))

    with caplog.at_level(logging.ERROR):
        scene.controller.submit(create("a"), broken)
        (response,) = scene.submit(create("b"))

    assert response.topics[0].error_code == 0
    assert len(heard) == 2
    assert "could not be applied" in caplog.text
    assert "could not be delivered" in caplog.text


def test_a_broker_that_falls_silent_is_fenced(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    epoch = scene.start_broker(2)
    scene.pass_time(8_999)
    assert not scene.image.brokers[2].fenced
    scene.beat(2, epoch)
    scene.pass_time(8_999)
    assert not scene.image.brokers[2].fenced

    scene.now += 1
    with caplog.at_level(logging.WARNING):
        scene.controller.tick()

    assert scene.image.brokers[2].fenced
    assert "broker 2 was not heard of" in caplog.text
    scene.beat(2, epoch)
    assert not scene.image.brokers[2].fenced


def test_the_controllers_own_broker_needs_no_heartbeats(scene: Scene) -> None:
    scene.now += 1_000_000
    scene.controller.tick()

    assert not scene.image.brokers[1].fenced


def test_a_second_process_does_not_take_the_place_of_the_controllers_own_broker(
    scene: Scene,
) -> None:
    scene.start_broker(1)
    scene.pass_time(60_000)
    second = registration(1)
    second.incarnation_id = bytes([99]) * 16
    (refused,) = scene.submit(second)
    assert refused.error_code == ErrorCode.DUPLICATE_BROKER_REGISTRATION


def test_the_controllers_own_broker_takes_the_place_of_the_process_before_it(
    scene: Scene,
) -> None:
    scene.start_broker(1)
    again = Scene(scene.journal)
    again.controller.load()
    next_life = registration(1)
    next_life.incarnation_id = bytes([99]) * 16
    (accepted,) = again.submit(next_life)
    assert accepted.error_code == 0


def test_after_a_start_brokers_have_time_to_be_heard_of(scene: Scene) -> None:
    scene.start_broker(2)
    again = Scene(scene.journal)
    again.now = 1_000_000
    again.controller.load()

    again.now += 8_999
    again.controller.tick()
    assert not again.image.brokers[2].fenced
    again.now += 1
    again.controller.tick()
    assert again.image.brokers[2].fenced
    assert not again.image.brokers[1].fenced


def test_a_stale_heartbeat_does_not_keep_a_broker_alive(scene: Scene) -> None:
    epoch = scene.start_broker(2)
    scene.now += 8_999
    (response,) = scene.beat(2, epoch - 1)
    assert response.error_code == ErrorCode.STALE_BROKER_EPOCH
    scene.now += 1
    scene.controller.tick()

    assert scene.image.brokers[2].fenced


def test_a_request_that_is_not_for_the_controller_is_the_callers_mistake(scene: Scene) -> None:
    with pytest.raises(AssertionError, match="no decider for ApiVersionsRequest"):
        scene.submit(ApiVersionsRequest())

    assert scene.submit(create("t"))[0].topics[0].error_code == 0


def test_while_the_journal_cannot_be_written_nobody_is_fenced_for_silence(scene: Scene) -> None:
    epoch = scene.start_broker(2)
    scene.pass_time(2_000)
    scene.journal.at_once = False
    scene.submit(create("a"))
    assert not scene.controller.is_stalled
    scene.pass_time(1_000)
    assert scene.controller.is_stalled
    answers = scene.beat(2, epoch)
    scene.pass_time(60_000)
    assert answers == []

    scene.journal.at_once = True
    scene.journal.finish()
    assert not scene.controller.is_stalled
    assert len(answers) == 1
    scene.pass_time(8_000)
    assert not scene.image.brokers[2].fenced
    scene.pass_time(2_000)
    assert scene.image.brokers[2].fenced


def test_a_heartbeat_that_a_broker_repeats_waits_once_and_is_decided_first(slow: Scene) -> None:
    epoch = slow.image.brokers[1].epoch
    slow.submit(create("a"))
    topic = slow.submit(delete("nope"))
    beats = [slow.beat(1, epoch) for _ in range(3)]
    leaving = slow.beat(1, epoch, want_shut_down=True)

    codes = [[answer.error_code for answer in answers] for answers in beats]
    assert codes == [[ErrorCode.REQUEST_TIMED_OUT], [ErrorCode.REQUEST_TIMED_OUT], []]
    slow.said.clear()
    slow.journal.finish()
    slow.journal.finish()

    assert [answer.error_code for answer in beats[2] + leaving] == [0, 0]
    assert len(topic) == 1
    order = [said for said in slow.said if isinstance(said, str)]
    assert order == ["CreateTopics", "BrokerHeartbeat", "BrokerHeartbeat", "DeleteTopics"]


def test_when_too_many_wait_for_the_journal_more_are_refused_but_heartbeats_are_not(
    slow: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    epoch = slow.image.brokers[1].epoch
    slow.controller._queue = WorkQueue(waiting_max=3, group_max=2)
    slow.submit(create("under-way"))
    waiting = [slow.submit(create(f"t{number}")) for number in range(3)]
    refused = [slow.submit(create(f"more{number}")) for number in range(2)]
    beat = slow.beat(1, epoch)

    codes = [[topic.error_code for topic in answer.topics] for (answer,) in refused]
    assert codes == [[ErrorCode.REQUEST_TIMED_OUT]] * 2
    assert ErrorCode.REQUEST_TIMED_OUT.retriable
    assert (waiting, beat) == ([[], [], []], [])
    assert caplog.text.count("more are refused") == 1

    slow.journal.at_once = True
    slow.journal.finish()

    assert [answer.topics[0].error_code for (answer,) in waiting] == [0, 0, 0]
    assert beat[0].error_code == 0
    assert slow.submit(create("more0"))[0].topics[0].error_code == 0


def test_a_broker_that_could_not_be_fenced_is_fenced_later(scene: Scene) -> None:
    scene.start_broker(2)
    scene.journal.error = StorageFailed("disk full")
    scene.pass_time(10_000)
    assert not scene.image.brokers[2].fenced

    scene.journal.error = None
    scene.pass_time(10_000)
    assert scene.image.brokers[2].fenced


def test_it_is_said_when_a_fenced_broker_is_back(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        epoch = scene.start_broker(2)
        scene.pass_time(10_000)
        scene.beat(2, epoch)
        scene.beat(2, epoch)

    said = [record.message for record in caplog.records]
    assert said == [
        "broker 2 is unfenced",
        "broker 2 was not heard of in time: fenced",
        "broker 2 is unfenced",
    ]


def test_closing_lets_go_of_the_journal_and_sends_everybody_to_another_controller(
    slow: Scene,
) -> None:
    under_way = slow.submit(create("a"))
    waiting = slow.submit(create("b"))

    slow.controller.close()

    assert slow.journal.closed
    for answers in (under_way, waiting):
        assert [answer.topics[0].error_code for answer in answers] == [ErrorCode.NOT_CONTROLLER]


def test_on_real_files_everything_is_there_after_a_restart(tmp_path: Path) -> None:
    def start() -> Scene:
        files = DirectoryFiles(tmp_path / "m")
        scene = Scene(EmbeddedJournal(files, node_id=1, snapshot_bytes=1_000))
        scene.controller.load(initial_records())
        return scene

    first = start()
    first.start_broker()
    for number in range(20):
        first.submit(create(f"t{number}"))
    first.submit(delete("t3"))
    second = start()

    assert second.image == first.image
    assert len(second.image.topics) == 19
    second.start_broker()
    assert {t.partitions[0].leader_epoch for t in second.image.topics.values()} == {0}
    assert start().image == second.image
