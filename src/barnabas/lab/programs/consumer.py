"""The lab's consumer: polls, processes, commits as it was told; each record it is done with is in
the log.

Three values steer it, and are never in the log: `quit` (leave cleanly), `crash` (die without
leaving), `wait` (block for a while).
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from barnabas.client.errors import ClientError
from barnabas.lab.programs.messages import Taken, taken
from barnabas.lab.programs.payload_log import key_text
from barnabas.lab.verdict.journal import What

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

    from barnabas.client.connect import Troubles
    from barnabas.lab.programs.journaling import Journal
    from barnabas.lab.programs.options import ConsumerOptions
    from barnabas.lab.programs.payload_log import PayloadLog

QUIT, CRASH, WAIT = b"quit", b"crash", b"wait"
STEERING = frozenset({QUIT, CRASH, WAIT})
WAIT_S = 0.1
"""The longest that a signal has to wait."""
FOR_GOOD = frozenset(
    {
        "TOPIC_AUTHORIZATION_FAILED",
        "GROUP_AUTHORIZATION_FAILED",
        "INVALID_SESSION_TIMEOUT",
        "INCONSISTENT_GROUP_PROTOCOL",
        "FENCED_INSTANCE_ID",
        "_FATAL",
    }
)
"""Errors that do not go away by trying again."""
Place = tuple[str, int]


class Crashed(Exception):  # noqa: N818 (it did crash, as it was told)
    """The message `crash` came.  Whoever catches it must end the process, and not close the
    consumer: the group is to find out by itself.
    """


@dataclass(slots=True, kw_only=True)
class LabConsumer:
    """Polls until it is told to end.  One thread, which is also that of the callbacks.

    A record is processed when it is in the payload log; the log is with the system before anything
    is committed, and before every pause.
    """

    options: ConsumerOptions
    log: PayloadLog
    journal: Journal
    say: Callable[[str], None]
    is_stopped: Callable[[], bool] = lambda: False
    processed: int = 0
    _is_quitting: bool = False
    _is_member: bool = False
    """Whether the group has ever given it its share, though that may be nothing."""
    _since_commit: int = 0
    _done: dict[Place, int] = field(default_factory=dict)
    """Positions behind what is processed and, with auto-commit, not yet stored."""
    _told: set[str] = field(default_factory=set)

    def callbacks(self) -> dict[str, Any]:
        """What the client is configured with."""
        return {"on_commit": self._on_commit}

    def run(self, consumer: Consumer, troubles: Troubles) -> None:
        """Until `quit`, a stop, or silence; then it commits, if it does that by itself, and leaves.

        `Crashed` after the message `crash`: the consumer is not closed then.
        """
        options = self.options
        self.journal.note(What.STARTED, options.topic)
        consumer.subscribe(
            [options.topic],
            on_assign=self._on_assign,
            on_revoke=self._on_revoke,
            on_lost=self._on_lost,
        )
        last = time.monotonic()
        while not self._is_ending:
            self._store(consumer)
            batch = self._poll(consumer)
            troubles.check()
            if batch:
                self._take(consumer, batch)
            if batch or not self._is_member:
                last = time.monotonic()
            elif options.idle_exit and (time.monotonic() - last) * 1000 >= options.idle_exit:
                self.say(f"no record for {options.idle_exit} ms")
                break
        self._store(consumer)
        consumer.close()
        self.journal.note(What.ENDED, detail="quit" if self._is_quitting else "stopped")

    @property
    def _is_ending(self) -> bool:
        return self._is_quitting or self.is_stopped()

    def _poll(self, consumer: Consumer) -> list[Taken]:
        """As Java's: returns with what is there as soon as there is anything."""
        end = time.monotonic() + self.options.poll_period / 1000
        first: Message | None = None
        while first is None and not self.is_stopped():
            left = end - time.monotonic()
            first = consumer.poll(max(0.0, min(left, WAIT_S)))
            if left <= 0:
                break
        if first is None:
            return []
        more = self.options.max_poll_recs - 1
        found = [first, *(consumer.consume(more, 0) if more else ())]
        for message in found:
            error = message.error()
            if error is not None:
                self._trouble(error)
        return [taken(message) for message in found if message.error() is None]

    def _trouble(self, error: KafkaError) -> None:
        """Says it once; what will not pass ends the program."""
        name, text = error.name(), error.str()
        if name in FOR_GOOD or error.fatal():
            raise ClientError(text)
        if text not in self._told:
            self._told.add(text)
            self.say(text)

    def _take(self, consumer: Consumer, batch: Sequence[Taken]) -> None:
        options = self.options
        positions = {(one.topic, one.partition): one.offset + 1 for one in batch}
        self._note(What.RECEIVED, batch)
        self.say(f"received {len(batch)} records")
        self._pause(options.wait_after_recv)
        unsaid: list[Taken] = []
        for record in batch:
            if self._is_ending:
                break
            self._process(record, unsaid)
            if (
                options.ack_every_x_msgs is not None
                and self._since_commit >= options.ack_every_x_msgs
            ):
                self._say_done(unsaid)
                self._commit(consumer, positions)
        self._say_done(unsaid)
        leaves_by_hand = self._is_quitting and options.ack_every_x_msgs is not None
        if self._done and (options.ack_after_batch or leaves_by_hand):
            self._commit(consumer, self._done)
        if not self._is_ending:
            self._pause(options.wait_after_batch)

    def _process(self, record: Taken, unsaid: list[Taken]) -> None:
        if record.value in STEERING:
            self._say_done(unsaid)
            self._steer(record.value)
        else:
            self.log.add(record.topic, record.partition, record.key, record.value)
            unsaid.append(record)
            self.processed += 1
            self._since_commit += 1
        self._done[record.topic, record.partition] = record.offset + 1
        if self.options.wait_after_record:
            self._say_done(unsaid)
            self._pause(self.options.wait_after_record)

    def _steer(self, word: bytes) -> None:
        self.journal.note(What.STEERED, self.options.topic, detail=word.decode())
        self.say(f"told to {word.decode()}")
        if word == CRASH:
            raise Crashed("crashed, as the message said")
        if word == QUIT:
            self._is_quitting = True
        else:
            self._pause(self.options.wait_cmd_period)

    def _say_done(self, unsaid: list[Taken]) -> None:
        """What was processed is with the system from here on."""
        self.log.flush()
        self._note(What.PROCESSED, unsaid)
        unsaid.clear()

    def _note(self, what: What, records: Iterable[Taken]) -> None:
        if not self.journal.is_open:
            return
        places: dict[Place, list[Taken]] = defaultdict(list)
        for record in records:
            places[record.topic, record.partition].append(record)
        for (topic, partition), found in places.items():
            self.journal.note(
                what,
                topic,
                partition,
                offsets=[record.offset for record in found],
                keys=[key_text(record.key) for record in found],
            )

    def _pause(self, ms: int) -> None:
        """The library's own threads go on telling the coordinator that we live, as Java's do."""
        end = time.monotonic() + ms / 1000
        while (left := end - time.monotonic()) > 0 and not self.is_stopped():
            time.sleep(min(left, WAIT_S))

    # Commits.

    def _store(self, consumer: Consumer) -> None:
        """With auto-commit: from now on what was processed may be committed."""
        if not self.options.auto_commit:
            self._done.clear()
            return
        from confluent_kafka import KafkaException

        for (topic, partition), offset in self._done.items():
            try:
                consumer.store_offsets(offsets=_partitions({(topic, partition): offset}))
            except KafkaException as error:  # the partition is somebody else's by now
                self.say(f"position {offset} of {topic}-{partition}: {error.args[0].str()}")
        self._done.clear()

    def _commit(self, consumer: Consumer, positions: dict[Place, int]) -> None:
        """Waits for the answer.  A commit that fails is said, and the next one tried: the records
        may come again.
        """
        from confluent_kafka import KafkaException

        self._since_commit = 0
        try:
            answers = consumer.commit(offsets=_partitions(positions), asynchronous=False)
        except KafkaException as error:
            self._commit_failed(error.args[0])
            return
        for answer in answers or ():
            self._committed(answer)

    def _on_commit(self, error: KafkaError | None, partitions: list[TopicPartition]) -> None:
        """Of auto-commit, while the client is polled or closed."""
        if error is not None:
            if error.name() != "_NO_OFFSET":
                self._commit_failed(error)
            return
        for partition in partitions:
            if partition.offset >= 0:
                self._committed(partition)

    def _committed(self, answer: TopicPartition) -> None:
        if answer.error is not None:
            self._commit_failed(answer.error, answer.topic, answer.partition)
            return
        self.journal.note(What.COMMITTED, answer.topic, answer.partition, offsets=[answer.offset])
        self.say(f"committed {answer.topic}-{answer.partition} at {answer.offset}")

    def _commit_failed(self, error: KafkaError, topic: str = "", partition: int = -1) -> None:
        self.journal.note(What.COMMIT_FAILED, topic, partition, detail=error.name())
        self.say(f"commit failed: {error.str()}")

    # Partitions come and go, while the client is polled.

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._is_member = True
        self._partitions(What.ASSIGNED, partitions)

    def _on_revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._partitions(What.REVOKED, partitions)

    def _on_lost(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._partitions(What.REVOKED, partitions, "lost")

    def _partitions(self, what: What, partitions: list[TopicPartition], detail: str = "") -> None:
        for partition in partitions:
            self.journal.note(what, partition.topic, partition.partition, detail=detail)
        names = ", ".join(f"{each.topic}-{each.partition}" for each in partitions) or "nothing"
        self.say(f"{detail or what.value} {names}")


def _partitions(positions: dict[Place, int]) -> list[TopicPartition]:
    from confluent_kafka import TopicPartition

    return [
        TopicPartition(topic, partition, offset) for (topic, partition), offset in positions.items()
    ]
