"""An image written as records, through the codec and a snapshot file, is the same image again."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from barnabas.controller import journal_format as fmt
from barnabas.controller.image import ClusterImage
from barnabas.protocol.message import Message
from barnabas.protocol.messages import metadata_records as mr

ids = st.binary(min_size=16, max_size=16)
texts = st.text(max_size=12)
int16 = st.integers(0, 2**15 - 1)
int31 = st.integers(0, 2**31 - 1)
int63 = st.integers(0, 2**63 - 1)
broker_ids = st.integers(0, 6)


@st.composite
def partitions(draw: st.DrawFn, topic_id: bytes, index: int) -> mr.PartitionRecord:
    replicas = draw(st.lists(broker_ids, min_size=1, max_size=5, unique=True))
    isr = draw(st.lists(st.sampled_from(replicas), unique=True))
    some = st.lists(st.sampled_from(replicas), unique=True)
    return mr.PartitionRecord(
        partition_id=index,
        topic_id=topic_id,
        replicas=replicas,
        isr=isr,
        removing_replicas=draw(some),
        adding_replicas=draw(some),
        leader=draw(st.sampled_from([-1, *isr])),
        leader_recovery_state=draw(st.integers(0, 1)),
        leader_epoch=draw(int31),
        partition_epoch=draw(int31),
        directories=draw(st.lists(ids, min_size=len(replicas), max_size=len(replicas))),
        eligible_leader_replicas=draw(st.none() | some),
        last_known_elr=draw(st.none() | some),
    )


@st.composite
def topics(draw: st.DrawFn) -> list[Message]:
    names = draw(st.lists(texts, max_size=4, unique=True))
    topic_ids = draw(st.lists(ids, min_size=len(names), max_size=len(names), unique=True))
    found: list[Message] = []
    for name, topic_id in zip(names, topic_ids, strict=True):
        found.append(mr.TopicRecord(name=name, topic_id=topic_id))
        count = draw(st.integers(0, 3))
        found += [draw(partitions(topic_id, index)) for index in range(count)]
    return found


brokers = st.builds(
    mr.RegisterBrokerRecord,
    broker_id=broker_ids,
    incarnation_id=ids,
    broker_epoch=int63,
    end_points=st.lists(
        st.builds(
            mr.BrokerEndpoint,
            name=texts,
            host=texts,
            port=st.integers(0, 65535),
            security_protocol=int16,
        ),
        max_size=3,
    ),
    features=st.lists(
        st.builds(
            mr.BrokerFeature, name=texts, min_supported_version=int16, max_supported_version=int16
        ),
        max_size=3,
        unique_by=lambda feature: feature.name,
    ),
    rack=st.none() | texts,
    fenced=st.booleans(),
    in_controlled_shutdown=st.booleans(),
    log_dirs=st.lists(ids, max_size=3),
)
configs = st.builds(
    mr.ConfigRecord,
    resource_type=st.sampled_from([2, 4, 16, 32]),
    resource_name=texts,
    name=texts,
    value=st.none() | texts,
)
features = st.builds(mr.FeatureLevelRecord, name=texts, feature_level=int16)
kept: Any = st.one_of(
    st.builds(mr.AccessControlEntryRecord, id=ids, resource_name=texts, host=texts),
    st.builds(mr.UserScramCredentialRecord, name=texts, mechanism=st.integers(1, 2), salt=ids),
    st.builds(mr.DelegationTokenRecord, token_id=texts, renewers=st.lists(texts, max_size=2)),
    st.builds(mr.RegisterControllerRecord, controller_id=broker_ids, incarnation_id=ids),
    st.builds(
        mr.ClientQuotaRecord,
        entity=st.lists(
            st.builds(mr.EntityData, entity_type=texts, entity_name=st.none() | texts),
            min_size=1,
            max_size=2,
            unique_by=lambda part: part.entity_type,
        ),
        key=texts,
        value=st.floats(allow_nan=False),
    ),
)


@st.composite
def images(draw: st.DrawFn) -> ClusterImage:
    image = ClusterImage("c")
    registered = draw(st.lists(brokers, max_size=3, unique_by=lambda broker: broker.broker_id))
    producer_ids = [mr.ProducerIdsRecord(next_producer_id=n) for n in draw(st.sets(int63)) if n > 0]
    records: list[Message] = [
        *draw(st.lists(features, max_size=4)),
        *registered,
        *draw(topics()),
        *draw(st.lists(configs, max_size=6)),
        *sorted(producer_ids, key=lambda record: record.next_producer_id),
        *draw(st.lists(kept, max_size=4)),
    ]
    for record in records:
        image.replay(record)
    return image


@given(image=images())
def test_an_image_is_what_its_snapshot_says(image: ClusterImage) -> None:
    data = fmt.encode_snapshot(image.dump(), epoch=3, now_ms=1, last_timestamp=1)

    records, _ = fmt.decode_snapshot(data)
    again = ClusterImage("c")
    for record in records:
        again.replay(record)

    assert again == image
    assert again.dump() == image.dump()


@given(image=images())
def test_a_fork_is_equal(image: ClusterImage) -> None:
    assert image.fork() == image
    assert image.fork().fork().dump() == image.dump()
