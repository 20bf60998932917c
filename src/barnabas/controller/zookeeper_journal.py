"""The journal of a cluster on several machines: nodes in ZooKeeper (`zookeeper_layout`).

Only the elected controller opens it.  Every transaction first checks the version of
`/controller_epoch`, which the next election changes: a controller that was deposed, and does not
know it yet, cannot write any more, and the next one reads everything it ever committed.

A commit is one transaction: the run, and `head`, which says that it counts.  What is too large for
one goes ahead in parts that nobody reads before `head` covers them.  If the connection is lost in
the middle, nobody knows whether it was done: the journal waits until it can look, and either finds
its commit there or repeats it.  It reports an error only when it has lost the right to write.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from barnabas.base.errors import StorageFailed
from barnabas.controller import journal_format as fmt
from barnabas.controller import zookeeper_layout as layout
from barnabas.controller.journal import Done, Run, Snapshot
from barnabas.controller.zookeeper import (
    BadVersion,
    Check,
    ConnectionLost,
    Create,
    Delete,
    NodeExists,
    NoNode,
    NotEmpty,
    Put,
    SessionGone,
    Step,
    ZooKeeper,
    ZooKeeperError,
    ensure,
)
from barnabas.controller.zookeeper_claim import Claim, Deposed, check_claim
from barnabas.controller.zookeeper_layout import Entry, Head

if TYPE_CHECKING:
    from barnabas.protocol.message import Message

log = logging.getLogger(__name__)

SNAPSHOT_BYTES = 4 * 1024 * 1024
SNAPSHOT_ENTRIES = 1000
"""ZooKeeper keeps everything in memory, and a new controller reads it node by node."""
DELETES_MAX = 500
"""In one transaction."""

Spawn = Callable[[Coroutine[Any, Any, None]], object]
"""Runs a coroutine on the owner's thread; what it returns is kept until that has ended."""


Part = tuple[str, bytes]
"""A path and what is to stand there."""


class ZooKeeperJournal:
    """Opened with `open_journal`.  What was read then, and what is committed, is kept in memory."""

    def __init__(
        self,
        zk: ZooKeeper,
        claim: Claim,
        *,
        node_id: int,
        spawn: Spawn,
        on_deposed: Callable[[], None],
        head: Head,
        head_version: int,
        snapshot: bytes = b"",
        entries: Sequence[bytes] = (),
        snapshot_bytes: int = SNAPSHOT_BYTES,
        snapshot_entries: int = SNAPSHOT_ENTRIES,
    ) -> None:
        self._zk = zk
        self._claim = claim
        self._node_id = node_id
        self._spawn = spawn
        self._on_deposed = on_deposed
        self._head = head
        self._head_version = head_version
        self._snapshot = snapshot
        self._log = bytearray().join(entries)
        self._log_start = layout.snapshot_id(head.snapshot)[0] if head.snapshot else 0
        self._entries = len(entries)
        self._snapshot_bytes = snapshot_bytes
        self._snapshot_entries = snapshot_entries
        self._queue = bytearray()
        self._last_timestamp = self._check_log()
        self._next_offset = head.end_offset
        self._claimed = False
        self._busy = False
        self._closed = False
        self._task: object = None

    def _check_log(self) -> int:
        """What was read reaches from the snapshot to the head; the newest time in it."""
        found = fmt.scan(bytes(self._log), base_offset=self._log_start)
        end = found.batches[-1][1].next_offset if found.batches else self._log_start
        if found.fault is not None or end != self._head.end_offset:
            raise StorageFailed(
                f"the journal in ZooKeeper is damaged: it ends at offset {end} instead of "
                f"{self._head.end_offset}" + (f" ({found.fault})" if found.fault else "")
            )
        return max((header.max_timestamp for _, header in found.batches), default=0)

    @property
    def epoch(self) -> int:
        return self._claim.epoch

    @property
    def end_offset(self) -> int:
        return self._head.end_offset

    @property
    def is_empty(self) -> bool:
        return self._head.end_offset == 0

    @property
    def snapshot_is_due(self) -> bool:
        return not self._busy and (
            len(self._log) >= self._snapshot_bytes or self._entries >= self._snapshot_entries
        )

    # Reading

    def snapshot(self) -> Snapshot | None:
        if self._head.snapshot is None:
            return None
        end_offset, epoch = layout.snapshot_id(self._head.snapshot)
        records, _ = fmt.decode_snapshot(self._snapshot)
        return Snapshot(records=records, end_offset=end_offset, epoch=epoch)

    def read(self, offset: int) -> Iterator[Run]:
        data = bytes(self._log)
        reader = fmt.RunReader()
        for position, header in fmt.scan(data, base_offset=self._log_start).batches:
            if header.last_offset >= offset:
                yield from reader.read(data[position : position + header.size_bytes], header)

    # Writing

    def append(self, records: Sequence[Message], *, now_ms: int) -> int:
        assert not self._busy, "one commit at a time"
        if not self._claimed and not self._queue:
            self._queue += fmt.encode_leader_change(
                node_id=self._node_id,
                base_offset=self._next_offset,
                epoch=self.epoch,
                now_ms=now_ms,
            )
            self._next_offset += 1
        data, self._next_offset = fmt.encode_run(
            records, base_offset=self._next_offset, epoch=self.epoch, now_ms=now_ms
        )
        self._queue += data
        self._last_timestamp = max(self._last_timestamp, now_ms)
        return self._next_offset - 1

    def commit(self, done: Done) -> None:
        assert not self._busy, "one commit at a time"
        if not self._queue:
            done(None)
            return
        self._run(self._commit(bytes(self._queue)), done)

    async def _commit(self, data: bytes) -> None:
        paths_and_parts = [
            (Entry(self.end_offset, number).path, part)
            for number, part in enumerate(layout.pieces(data))
        ]
        head = Head(end_offset=self._next_offset, epoch=self.epoch, snapshot=self._head.snapshot)
        try:
            await self._write(lambda: paths_and_parts, head)
        finally:
            self._queue.clear()
            self._next_offset = self.end_offset
        self._log += data
        self._entries += len(paths_and_parts)
        self._claimed = True

    def write_snapshot(self, records: Sequence[Message], *, now_ms: int, done: Done) -> None:
        assert not self._busy, "one commit or snapshot at a time"
        assert not self._queue, "a snapshot is of what is committed"
        self._run(self._write_snapshot(records, now_ms), done)

    async def _write_snapshot(self, records: Sequence[Message], now_ms: int) -> None:
        now = self._head
        name = layout.snapshot_name(now.end_offset, now.epoch)
        if name == now.snapshot:
            return
        kept: list[bytes] = []

        def parts() -> Iterator[Part]:
            """One batch after the other, so that the owner can do other things in between."""
            kept.clear()
            yield f"{layout.SNAPSHOTS}/{name}", b""
            for batch in fmt.snapshot_batches(
                records, epoch=now.epoch, now_ms=now_ms, last_timestamp=self._last_timestamp
            ):
                for piece in layout.pieces(batch):
                    kept.append(piece)
                    yield layout.snapshot_part(name, len(kept) - 1), piece

        head = Head(end_offset=now.end_offset, epoch=now.epoch, snapshot=name)
        self._entries = 0  # if it fails too: it is tried again when the journal has grown
        await self._write(parts, head)
        self._snapshot = b"".join(kept)
        self._log.clear()
        self._log_start = now.end_offset
        await self.sweep()

    def close(self) -> None:
        """Let go.  Of what is under way the end is not reported."""
        self._closed = True

    def _run(self, work: Coroutine[Any, Any, None], done: Done) -> None:
        async def run() -> None:
            error: Exception | None = None
            try:
                await work
            except ZooKeeperError as failure:
                error = StorageFailed(f"ZooKeeper: {failure}")
            except Exception as failure:  # passed on: whoever asked for it answers with it
                error = failure
            self._busy = False
            if not self._closed:
                done(error)
                if isinstance(error, Deposed):
                    self._on_deposed()

        self._busy = True
        self._task = self._spawn(run())

    # Transactions

    async def _write(self, parts: Callable[[], Iterable[Part]], head: Head) -> None:
        """Write all parts, and with the last of them the new head; again until it is done.

        `Deposed` if it never will be.
        """
        while True:
            try:
                await self._write_once(parts(), head)
            except (ConnectionLost, SessionGone, BadVersion) as error:
                log.warning("a write to ZooKeeper may not have been done: %s", _text(error))
                if not await self._stands(head):
                    continue
            else:
                self._head_version += 1
            self._head = head
            return

    async def _write_once(self, parts: Iterable[Part], head: Head) -> None:
        last: Part | None = None
        for part in parts:
            if last is not None:
                await self._put(last)
            last = part
        assert last is not None, "there is something to write"
        await self._put(last, Put(layout.HEAD, head.encode(), self._head_version))

    async def _put(self, part: Part, *more: Step) -> None:
        """An earlier attempt may have left such a node: it was never committed."""
        path, data = part
        try:
            await self._zk.write(self._guard, Create(path, data), *more)
        except NodeExists:
            await self._zk.write(self._guard, Put(path, data), *more)

    @property
    def _guard(self) -> Check:
        return Check(layout.CONTROLLER_EPOCH, self._claim.version)

    async def _stands(self, wanted: Head) -> bool:
        """Whether a write of unknown outcome was done.  `Deposed` if somebody else may write."""
        while True:
            await check_claim(self._zk, self._claim)
            try:
                found = await self._zk.look(layout.HEAD)
            except (ConnectionLost, SessionGone):
                continue
            if found is None:
                raise StorageFailed(f"{layout.HEAD} has disappeared from ZooKeeper")
            self._head_version = found.version
            return Head.decode(found.data) == wanted

    async def sweep(self) -> None:
        """Delete what the newest snapshot has replaced, and what was never committed."""
        while True:
            try:
                useless = await self._useless()
                for first in range(0, len(useless), DELETES_MAX):
                    await self._zk.write(self._guard, *useless[first : first + DELETES_MAX])
            except (NoNode, NotEmpty, ConnectionLost, SessionGone, BadVersion):
                await check_claim(self._zk, self._claim)  # then look again what is left
            else:
                return

    async def _useless(self) -> list[Delete]:
        found = [
            Delete(entry.path)
            for entry in layout.entries(await self._zk.children(layout.LOG))
            if not self._log_start <= entry.base_offset < self.end_offset
        ]
        for name in await self._zk.children(layout.SNAPSHOTS):
            if name != self._head.snapshot:
                folder = f"{layout.SNAPSHOTS}/{name}"
                found += [Delete(f"{folder}/{part}") for part in await self._zk.children(folder)]
                found.append(Delete(folder))
        return found


async def open_journal(
    zk: ZooKeeper,
    claim: Claim,
    *,
    node_id: int,
    spawn: Spawn,
    on_deposed: Callable[[], None],
    snapshot_bytes: int = SNAPSHOT_BYTES,
    snapshot_entries: int = SNAPSHOT_ENTRIES,
) -> ZooKeeperJournal:
    """Read everything there is.  `Deposed` if somebody else was elected meanwhile.

    The claim was a write of our own, so that whatever server answers has seen it, and with it all
    that earlier controllers committed.
    """
    while True:
        try:
            head, head_version = await _open_head(zk, claim)
            start = layout.snapshot_id(head.snapshot)[0] if head.snapshot else 0
            entries = layout.entries(await zk.children(layout.LOG))
            journal = ZooKeeperJournal(
                zk,
                claim,
                node_id=node_id,
                spawn=spawn,
                on_deposed=on_deposed,
                head=head,
                head_version=head_version,
                snapshot=await _read_snapshot(zk, head.snapshot),
                entries=await zk.read(
                    [e.path for e in entries if start <= e.base_offset < head.end_offset]
                ),
                snapshot_bytes=snapshot_bytes,
                snapshot_entries=snapshot_entries,
            )
            await journal.sweep()
        except (ConnectionLost, SessionGone, BadVersion):
            await check_claim(zk, claim)
        except NoNode as missing:
            await check_claim(zk, claim)
            raise StorageFailed(f"the journal in ZooKeeper lacks {missing}") from None
        else:
            return journal


async def _open_head(zk: ZooKeeper, claim: Claim) -> tuple[Head, int]:
    await ensure(zk, *layout.PERSISTENT)
    found = await zk.look(layout.HEAD)
    if found is not None:
        return Head.decode(found.data), found.version
    check = Check(layout.CONTROLLER_EPOCH, claim.version)
    await zk.write(check, Create(layout.HEAD, Head().encode()))
    return Head(), 0


async def _read_snapshot(zk: ZooKeeper, name: str | None) -> bytes:
    if name is None:
        return b""
    numbers = await zk.children(f"{layout.SNAPSHOTS}/{name}")
    parts = await zk.read([f"{layout.SNAPSHOTS}/{name}/{number}" for number in numbers])
    data = b"".join(parts)
    if not fmt.is_whole_snapshot(data):
        raise StorageFailed(f"the snapshot {name} in ZooKeeper is damaged")
    return data


def _text(error: Exception) -> str:
    return str(error) or type(error).__name__
