"""Whoever follows the metadata log has the controller's image, whatever happens on the way."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from barnabas.controller import journal_format as fmt
from barnabas.controller.image import ClusterImage
from barnabas.controller.image_exchange import exchange
from barnabas.controller.metadata_log import Batches, Diverging, MetadataLog, TooOld
from barnabas.protocol.message import Message
from barnabas.protocol.messages.metadata_records import ConfigRecord, FeatureLevelRecord
from barnabas.records.batch import iter_headers

KEPT_BYTES = 600
"""A few runs: followers fall behind soon."""

records = st.one_of(
    st.builds(
        ConfigRecord,
        resource_type=st.just(2),
        resource_name=st.sampled_from(["a", "b"]),
        name=st.sampled_from(["retention.ms", "segment.bytes"]),
        value=st.none() | st.integers(1, 99).map(str),
    ),
    st.builds(
        FeatureLevelRecord, name=st.sampled_from(["f", "g"]), feature_level=st.integers(0, 9)
    ),
)
commits = st.tuples(st.just("commit"), st.lists(records, min_size=1, max_size=5), st.integers(0, 2))
restarts = st.tuples(st.just("restart"), st.just([]), st.just(0))
fetches = st.tuples(st.just("fetch"), st.just([]), st.integers(1, 500))
losses = st.tuples(st.just("forget"), st.just([]), st.just(0))


class Controller:
    """A journal, its image and its log; a restart begins a new epoch with an empty log."""

    def __init__(self) -> None:
        self.image = ClusterImage("cluster")
        self.epoch = 1
        self.restart()

    def restart(self) -> None:
        self.epoch += 1
        image = self.image
        self.log = MetadataLog(
            end_offset=image.applied_offset + 1, epoch=image.applied_epoch, kept_bytes=KEPT_BYTES
        )

    def commit(self, run: list[Message], unused_offsets: int) -> None:
        last = self.image.applied_offset + unused_offsets + len(run)
        self.image.replay_run(run, offset=last, epoch=self.epoch)
        self.log.append(run, last_offset=last, epoch=self.epoch, now_ms=0)

    def snapshot(self) -> ClusterImage:
        newer = ClusterImage("cluster")
        newer.load_snapshot(
            self.image.dump(),
            end_offset=self.image.applied_offset + 1,
            epoch=self.image.applied_epoch,
        )
        return newer


class Follower:
    def __init__(self) -> None:
        self.image = ClusterImage("cluster")

    def fetch(self, controller: Controller, max_bytes: int) -> None:
        image = self.image
        found = controller.log.read(
            image.applied_offset + 1, image.applied_epoch, max_bytes=max_bytes
        )
        assert not isinstance(found, Diverging), "everything read was committed"
        if isinstance(found, TooOld):
            exchange(image, controller.snapshot())
            return
        assert isinstance(found, Batches)
        reader = fmt.RunReader()
        for position, header in iter_headers(found.data):
            batch = found.data[position : position + header.size_bytes]
            for run in reader.read(batch, header):
                image.replay_run(run.records, offset=run.last_offset, epoch=run.epoch)


@given(st.lists(st.one_of(commits, commits, fetches, restarts, losses), max_size=40))
def test_a_follower_ends_with_the_image_of_the_controller(
    events: list[tuple[str, list[Message], int]],
) -> None:
    controller, follower = Controller(), Follower()
    for kind, run, number in events:
        match kind:
            case "commit":
                controller.commit(run, number)
            case "restart":
                controller.restart()
            case "fetch":
                follower.fetch(controller, number)
            case "forget":
                follower = Follower()
    while follower.image.applied_offset < controller.image.applied_offset:
        before = follower.image.applied_offset
        follower.fetch(controller, 1)
        assert follower.image.applied_offset > before

    assert follower.image == controller.image
