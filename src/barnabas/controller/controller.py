"""The controller: requests in, committed metadata out.

A request is decided on what is committed so far, its records are appended and made durable, then
replayed, then followers apply the change, and then the request is answered.  Requests that arrive
while a commit is under way are decided together and share the next one.

Everything here runs on one thread, the broker's loop.  If the journal has no worker, `submit`
returns when the request has been answered, so a test or simulation sees one order of events.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from barnabas.base.errors import (
    ApiError,
    NotController,
    RequestTimedOut,
    StorageFailed,
    UnknownServerError,
)
from barnabas.controller import decider
from barnabas.controller.decider.brokers import decide_fence
from barnabas.controller.decider.decision import Decision, Environment
from barnabas.controller.decider.periodic import PeriodicWork, Task
from barnabas.controller.work_queue import Work, WorkQueue
from barnabas.protocol.messages.broker_heartbeat import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
)
from barnabas.protocol.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from barnabas.protocol.messages.elect_leaders import ElectLeadersResponse

if TYPE_CHECKING:
    from barnabas.controller.image import ClusterImage, ImageChanges
    from barnabas.controller.journal import Journal
    from barnabas.controller.metadata_log import MetadataLog
    from barnabas.protocol.message import Message

log = logging.getLogger(__name__)

Follower = Callable[["ClusterImage", "ImageChanges"], None]
Answer = Callable[["Message"], None]

STALL_MS = 1_000
"""A commit that takes longer: the journal cannot be written, or not yet again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Decided:
    work: Work
    decision: Decision
    offset: int
    """Of the last record; -1 if there is none."""


class Controller:
    """The only writer of the journal."""

    def __init__(
        self,
        *,
        journal: Journal,
        image: ClusterImage,
        env: Environment,
        now_ms: Callable[[], int],
        log: MetadataLog | None = None,
    ) -> None:
        """`log` gets every run that is committed: for brokers that are elsewhere."""
        self.image = image
        self.log = log
        self._journal = journal
        self._env = env
        self._now_ms = now_ms
        self._periodic = PeriodicWork()
        self._queue = WorkQueue()
        self._is_full = False
        self._under_way: list[_Decided] = []
        self._followers: list[Follower] = []
        self._initial: tuple[Message, ...] = ()
        self._busy = False
        self._busy_since_ms = 0
        self._looping = False

    def load(self, initial: Sequence[Message] = ()) -> None:
        """Bring the image up to the end of the journal; writes nothing.

        `initial` are the first records of a journal that is empty: they are committed together
        with those of the first request.  Brokers that were in the cluster have the session timeout
        from now on to be heard of.
        """
        self.image.load_journal(self._journal)
        for broker in self.image.brokers.values():
            # What was a broker in this node's place may be a process that is gone.
            if not broker.fenced and self._is_elsewhere(broker.id):
                self._touch(broker.id)
        self._initial = tuple(initial)

    def follow(self, follower: Follower) -> None:
        """Call `follower` with the image and what changed, after each change and before its answer.

        It sees nothing of what is already there: that is `image.as_changes()`.
        """
        self._followers.append(follower)

    def submit(self, request: Message, done: Answer) -> None:
        """Carry out `request`; `done` gets the response when its effects are committed and applied.

        If the journal cannot be written, or too many wait for it already, the response says so and
        nothing has changed.
        """
        assert decider.can_decide(request), f"no decider for {type(request).__name__}"
        self._enqueue(
            Work(
                decide=partial(self._decide, request),
                refuse=partial(decider.refuse, request),
                done=partial(self._answered, request, done),
                urgent=_repeated(request),
            )
        )

    def tick(self) -> None:
        """Fence brokers that were not heard of in time, and do what is to be done now and then.

        To be called every second or so.
        """
        if self.is_stalled:
            return
        now_ms = self._now_ms()
        for broker_id in self._env.sessions.expired(now_ms):
            log.warning("broker %d was not heard of in time: fenced", broker_id)
            self.fence(broker_id)
        for task in self._periodic.due(self.image, self._env, now_ms):
            self._enqueue(
                Work(
                    decide=partial(self._decide_task, task),
                    refuse=lambda _: ElectLeadersResponse(),
                    done=lambda _: None,
                    is_own=True,
                )
            )

    @property
    def is_stalled(self) -> bool:
        """Nothing gets done, and heartbeats wait too: the silence of a broker says nothing."""
        return self._busy and self._now_ms() - self._busy_since_ms >= STALL_MS

    def fence(self, broker_id: int) -> None:
        """That broker is gone: others lead from now on, until it is heard of again."""
        self._env.sessions.forget(broker_id)
        self._enqueue(
            Work(
                decide=partial(self._decide_fence, broker_id),
                refuse=partial(self._not_fenced, broker_id),
                done=lambda _: None,
                urgent=("fence", broker_id),
                is_own=True,
            )
        )

    def _not_fenced(self, broker_id: int, error: Exception) -> Message:
        """It has a session once more, whose end is noticed again."""
        self._touch(broker_id)
        return BrokerHeartbeatResponse()

    def saw(self, broker_id: int, offset: int) -> None:
        """That broker has applied the metadata up to `offset`: who leaves may wait for it."""
        self._env.sessions.saw(broker_id, offset)

    def close(self) -> None:
        """Let go of the journal.  What is not carried out yet may be, by another controller."""
        self._journal.close()
        waiting = [*(entry.work for entry in self._under_way), *self._queue.take_all()]
        self._under_way = []
        for work in waiting:
            self._answer(work, work.refuse(NotController()))

    # From the queue to the journal

    def _decide(self, request: Message, image: ClusterImage, now_ms: int) -> Decision:
        return decider.decide(image, request, now_ms, self._env)

    def _decide_fence(self, broker_id: int, image: ClusterImage, now_ms: int) -> Decision:
        return decide_fence(image, broker_id, self._env)

    def _decide_task(self, task: Task, image: ClusterImage, now_ms: int) -> Decision:
        decision = task.decide(image, self._env)
        self._periodic.decided(task, decision, now_ms)
        return decision

    def _enqueue(self, work: Work) -> None:
        refused = self._queue.put(work)
        if refused is work and not self._is_full:
            self._is_full = True
            log.warning("%d requests wait for the journal: more are refused", len(self._queue))
        if refused is not None:
            self._answer(refused, refused.refuse(RequestTimedOut()))
        self._go_on()

    def _go_on(self) -> None:
        """Decide on what waits, unless a commit is under way: its end comes back here."""
        if self._looping:
            return  # called from a callback of the loop below, which goes on by itself
        self._looping = True
        try:
            while self._queue and not self._busy:
                self._next_group()
        finally:
            self._looping = False

    def _next_group(self) -> None:
        group = self._queue.take()
        self._is_full = False
        if self._initial and self._journal.is_empty:
            group.insert(0, _initial_work(self._initial))
        decided = self._decide_group(group)
        self._set_busy()
        self._under_way = decided
        if any(entry.decision.records for entry in decided):
            self._journal.commit(partial(self._committed, decided))
        else:
            self._committed(decided, None)

    def _decide_group(self, group: list[Work]) -> list[_Decided]:
        """Decide in order, each on the outcome of those before it, and append their records.

        The outcome is made on a copy, before anything is written: records that cannot be replayed
        never get into the journal.
        """
        now_ms = self._now_ms()
        image = self.image
        decided: list[_Decided] = []
        for work in group:
            try:
                decision = work.decide(image, now_ms)
                if decision.records:
                    trial = image.fork() if image is self.image else image
                    for record in decision.records:
                        trial.replay(record)
                    image = trial
            except Exception:
                log.exception("a request could not be decided")
                image = self._again(decided)
                decision = Decision(response=work.refuse(UnknownServerError()))
            offset = -1
            if decision.records:
                offset = self._journal.append(decision.records, now_ms=now_ms)
                image.applied_offset, image.applied_epoch = offset, self._journal.epoch
            decided.append(_Decided(work=work, decision=decision, offset=offset))
        return decided

    def _again(self, decided: list[_Decided]) -> ClusterImage:
        """The outcome of what was decided so far, after a trial that went wrong."""
        image = self.image
        for entry in decided:
            if entry.decision.records:
                image = image.fork() if image is self.image else image
                image.replay_run(
                    entry.decision.records, offset=entry.offset, epoch=self._journal.epoch
                )
        return image

    # From the journal to the answers

    def _committed(self, decided: list[_Decided], error: BaseException | None) -> None:
        """Until the last one is answered, requests that callbacks submit only wait."""
        self._under_way = []
        if error is not None:
            log.error("the metadata journal cannot be written: %s", error)
        for entry in decided:
            if error is None:
                if entry.decision.records:
                    self._apply(entry)
                self._answer(entry.work, entry.decision.response)
            else:
                failed = error if isinstance(error, ApiError) else StorageFailed()
                self._answer(entry.work, entry.work.refuse(failed))
        self._busy = False
        if self._journal.snapshot_is_due:
            self._write_snapshot()
        self._go_on()

    def _apply(self, entry: _Decided) -> None:
        changes = self.image.replay_run(
            entry.decision.records, offset=entry.offset, epoch=self._journal.epoch
        )
        if self.log is not None:
            self.log.append(
                entry.decision.records,
                last_offset=entry.offset,
                epoch=self._journal.epoch,
                now_ms=self._now_ms(),
            )
        self._say_who_is_back(changes)
        for follower in self._followers:
            try:
                follower(self.image, changes)
            except Exception:
                log.exception("a committed change could not be applied")

    def _say_who_is_back(self, changes: ImageChanges) -> None:
        for broker_id, before in changes.brokers.items():
            now = self.image.brokers.get(broker_id)
            was_fenced = before is None or before.fenced
            if now is not None and was_fenced and not now.fenced and self._is_elsewhere(broker_id):
                log.info("broker %d is unfenced", broker_id)

    def _answer(self, work: Work, response: Message) -> None:
        try:
            work.done(response)
        except Exception:
            log.exception("a response could not be delivered")

    def _answered(self, request: Message, done: Answer, response: Message) -> None:
        """Note what was heard of a broker, then pass the response on."""
        match request, response:
            case BrokerRegistrationRequest(), BrokerRegistrationResponse(error_code=0):
                self._env.sessions.forget(request.broker_id)
                self._touch(request.broker_id)
            case BrokerHeartbeatRequest(), BrokerHeartbeatResponse(error_code=0):
                self._heard(request, response)
        done(response)

    def _heard(self, request: BrokerHeartbeatRequest, response: BrokerHeartbeatResponse) -> None:
        broker = self.image.brokers.get(request.broker_id)
        if response.should_shut_down or broker is None:
            self._env.sessions.forget(request.broker_id)
            return
        self._touch(request.broker_id, metadata_offset=request.current_metadata_offset)
        if broker.in_controlled_shutdown:
            self._env.sessions.start_leaving(broker.id, self.image.applied_offset)

    def _touch(self, broker_id: int, *, metadata_offset: int = -1) -> None:
        """The controller's own node needs no heartbeats to be known to live."""
        if self._is_elsewhere(broker_id):
            self._env.sessions.touch(broker_id, self._now_ms(), metadata_offset=metadata_offset)
        else:
            self._env.sessions.stays(broker_id)

    def _is_elsewhere(self, broker_id: int) -> bool:
        config = self._env.config
        return broker_id != config.node_id or "broker" not in config.list("process.roles")

    def _set_busy(self) -> None:
        self._busy, self._busy_since_ms = True, self._now_ms()

    def _write_snapshot(self) -> None:
        self._set_busy()
        self._journal.write_snapshot(
            self.image.dump(), now_ms=self._now_ms(), done=self._snapshot_written
        )

    def _snapshot_written(self, error: BaseException | None) -> None:
        if error is not None:
            log.warning("a snapshot of the metadata could not be written: %s", error)
        self._busy = False
        self._go_on()


def _initial_work(records: tuple[Message, ...]) -> Work:
    """Nobody waits for it: if it fails, so does what comes after it, and it is tried again."""
    return Work(
        decide=lambda image, _: Decision(records=records, response=BrokerHeartbeatResponse()),
        refuse=lambda _: BrokerHeartbeatResponse(),
        done=lambda _: None,
        is_own=True,
    )


def _repeated(request: Message) -> Hashable:
    """What a broker says again and again until it is answered, of which the last counts."""
    if not isinstance(request, BrokerHeartbeatRequest):
        return None
    return (
        request.broker_id,
        request.broker_epoch,
        request.want_fence,
        request.want_shut_down,
        tuple(request.offline_log_dirs),
    )
