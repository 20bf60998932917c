"""What a connection knows of the commits that come on it.  See `commit_memo.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.broker.net.commit_memo import CommitMemo
    from barnabas.broker.state import Broker
    from barnabas.protocol.messages.offset_commit import OffsetCommitRequest


class Commits:
    """The commits of one connection."""

    __slots__ = ("_broker", "_size", "memo")

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._size = 0
        self.memo: CommitMemo | None = None
        """For those that are like the last; None until that is known to happen."""

    def note(self, frame: memoryview, body_at: int, request: OffsetCommitRequest) -> None:
        """A commit went the long way; `body_at` is where the frame's header ends.

        It is learnt from if one of its size came before.  What was learnt and never used shows that
        this client's commits are all different: no more is learnt from it.
        """
        size, self._size = self._size, len(frame)
        if size == len(frame) and (self.memo is None or self.memo.was_used):
            from barnabas.broker.net.commit_memo import learn  # brings the coordinator with it

            self.memo = learn(self._broker, frame, body_at, request)
