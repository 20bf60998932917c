from __future__ import annotations

from collections.abc import Iterator

import pytest
from fake_brokers import PLAIN, FakeCluster, install

from barnabas.client.brokers import (
    GROUP,
    TRANSACTION,
    Brokers,
    PartitionPlace,
    by_topic,
    check_code,
    refusal,
)
from barnabas.client.errors import (
    ClientError,
    NotReachableError,
    RefusedError,
    SilentBrokerError,
)
from barnabas.protocol.apis import ApiKey
from barnabas.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from barnabas.protocol.messages.metadata import MetadataRequest


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    return install(monkeypatch)


@pytest.fixture
def brokers(cluster: FakeCluster) -> Iterator[Brokers]:
    with Brokers.connect(PLAIN, timeout_s=1) as connected:
        connected.patience.sleep = lambda _: None
        yield connected
    assert cluster.open_connections == 0


def test_each_broker_is_connected_to_once(cluster: FakeCluster, brokers: Brokers) -> None:
    assert brokers.ids() == [1, 2]
    assert brokers.to(2) is brokers.to(2)
    assert cluster.open_connections == 2


def test_a_broker_that_there_is_not_is_named(brokers: Brokers) -> None:
    with pytest.raises(ClientError, match="there is no broker 7; brokers are 1, 2"):
        brokers.to(7)


def test_partitions_are_found_without_creating_topics(
    cluster: FakeCluster, brokers: Brokers
) -> None:
    cluster.leaders["u", 0] = -1

    assert brokers.places(["u"]) == {("u", 0): PartitionPlace(leader=None, replicas=(-1,))}
    assert set(brokers.places(None)) == {("t", 0), ("t", 1), ("u", 0)}
    assert brokers.places([]) == {}
    assert not any(request.allow_auto_topic_creation for _, request in cluster.requests)
    with pytest.raises(RefusedError, match="no such topic"):
        brokers.places(["t", "none"])


@pytest.mark.parametrize("version", [1, 3, 4, 6])
def test_the_coordinator_is_found_in_every_version(
    cluster: FakeCluster, brokers: Brokers, version: int
) -> None:
    cluster.highest[ApiKey.FIND_COORDINATOR] = version

    found = brokers.ask_coordinator("k", TRANSACTION, lambda broker_id, _: broker_id)

    assert found == 2
    ((_, request),) = cluster.sent(FindCoordinatorRequest)
    assert request.key_type == TRANSACTION
    assert request.coordinator_keys == ["k"] if version >= 4 else request.key == "k"


def test_a_coordinator_that_has_moved_is_looked_up_again(
    cluster: FakeCluster, brokers: Brokers
) -> None:
    asked = []

    def ask(broker_id: int, _: object) -> str:
        asked.append(broker_id)
        if broker_id == 2:
            cluster.coordinator = 1
            raise RefusedError("NOT_COORDINATOR", "moved")
        return "here"

    assert brokers.ask_coordinator("g", GROUP, ask) == "here"
    assert asked == [2, 1]


@pytest.mark.parametrize("version", [1, 6])
def test_why_there_is_no_coordinator_is_told(
    cluster: FakeCluster, brokers: Brokers, version: int
) -> None:
    cluster.highest[ApiKey.FIND_COORDINATOR] = version
    good = cluster.respond[FindCoordinatorRequest]

    def refuse(broker: int, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
        answer: FindCoordinatorResponse = good(broker, request)
        for each in answer.coordinators or [answer]:
            each.error_code, each.error_message = 30, "not for you"
        return answer

    cluster.respond[FindCoordinatorRequest] = refuse
    with pytest.raises(RefusedError, match="not for you") as caught:
        brokers.ask_coordinator("g", GROUP, lambda broker_id, _: broker_id)
    assert caught.value.name == "GROUP_AUTHORIZATION_FAILED"


def test_a_way_in_that_is_not_known_is_refused_before_anybody_is_asked(
    cluster: FakeCluster,
) -> None:
    kerberos = {**PLAIN, "security.protocol": "SASL_SSL", "sasl.mechanism": "GSSAPI"}
    with pytest.raises(ClientError, match=r"sasl\.mechanism=GSSAPI"):
        Brokers.connect(kerberos, timeout_s=1)
    assert cluster.requests == []


def test_nobody_there() -> None:
    with pytest.raises(NotReachableError):
        Brokers.connect({"bootstrap.servers": "127.0.0.1:1"}, timeout_s=1)


def test_a_listener_that_does_not_answer_is_no_broker(cluster: FakeCluster) -> None:
    def silent(broker: int, request: MetadataRequest) -> object:
        raise ClientError("no answer")

    cluster.respond[MetadataRequest] = silent
    with pytest.raises(SilentBrokerError, match="no usable answer from h:1"):
        Brokers.connect(PLAIN, timeout_s=1)
    assert cluster.open_connections == 0


def test_codes_become_refusals() -> None:
    assert refusal(0) is None
    check_code(0)
    with pytest.raises(RefusedError, match="There is no such group") as caught:
        check_code(69)
    assert caught.value.name == "GROUP_ID_NOT_FOUND"
    assert str(refusal(69, "in my words")) == "in my words"
    assert str(refusal(9999)) == "error code 9999"


def test_partitions_by_topic() -> None:
    assert by_topic([("b", 1), ("a", 2), ("b", 0), ("b", 1)]) == {"a": [2], "b": [0, 1]}
