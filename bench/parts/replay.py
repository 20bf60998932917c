"""(f) Captured Produce requests, replayed at several depths: the broker alone, no client."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from capture import capture_produce
from harness.brokers import Broker
from programs import Load, java_produce, librdkafka, replay_program, run_json
from session import CpuMeter, Session
from targets import Target

NAME = "replay"
DEPTHS = (1, 5, 50)
WARM_UP_REQUESTS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """How to make a client send the request that is captured. Not idempotent: it is repeated."""

    title: str
    client: str
    size: int
    records: int
    settings: tuple[str, ...]
    requests: dict[int, int]
    """How often it is replayed, by depth."""


FRAMES = (
    Frame(
        title="Java, one record of 100 B",
        client="Java",
        size=100,
        records=20,
        settings=("acks=1", "enable.idempotence=false", "batch.size=0", "linger.ms=0"),
        requests={1: 12_000, 5: 30_000, 50: 90_000},
    ),
    Frame(
        title="Java, 16 KiB of 1 KiB records",
        client="Java",
        size=1024,
        records=1_000,
        settings=("acks=1", "enable.idempotence=false", "linger.ms=100"),
        requests={1: 8_000, 5: 16_000, 50: 16_000},
    ),
    Frame(
        title="librdkafka, 16 KiB of 1 KiB records",
        client="librdkafka",
        size=1024,
        records=1_000,
        settings=("acks=1", "batch.size=16384", "linger.ms=100"),
        requests={1: 8_000, 5: 16_000, 50: 16_000},
    ),
)


def run(session: Session) -> None:
    with session.all_running() as brokers:
        for frame in FRAMES:
            able = [t for t in session.targets if t.speaks_java or frame.client != "Java"]
            files = {t.name: captured(session, frame, t, brokers[t.name]) for t in able}
            for target in able:
                session.warm_up(partial(cost, files[target.name], brokers[target.name]))
            for depth in DEPTHS:
                for number, target in session.in_turn():
                    if target in able:
                        requests = session.scale(frame.requests[depth])
                        file = files[target.name]
                        action = partial(play, file, brokers[target.name], requests, depth)
                        case = f"{frame.title}, depth {depth}"
                        session.take(number, target, (NAME, case), action)


def captured(session: Session, frame: Frame, target: Target, broker: Broker) -> Path:
    """The request as this client sends it to this broker, in the version they agree on."""
    topic = target.new_topic(broker, 1)
    load = Load(topic=topic, count=frame.records, size=frame.size, settings=frame.settings)

    def send(bootstrap: str) -> None:
        if frame.client == "Java":
            java_produce(bootstrap, load)
        else:
            librdkafka("produce", bootstrap, load)

    file = session.new_folder("capture") / "produce.bin"
    file.write_bytes(capture_produce(broker.bootstrap, send))
    return file


def cost(file: Path, broker: Broker) -> float:
    return play(file, broker, WARM_UP_REQUESTS, 5)["cpu_us_per_req"]


def play(file: Path, broker: Broker, requests: int, depth: int) -> dict[str, float]:
    """The measured values by the names of their metrics."""
    port = broker.bootstrap.rpartition(":")[2]
    with CpuMeter(broker) as cpu:
        answer = run_json([str(replay_program()), port, str(file), str(requests), str(depth)])
    return {
        "requests_per_s": answer["requests_per_s"],
        "p99_us": answer["p99_us"],
        "cpu_us_per_req": cpu.seconds * 1e6 / requests,
    }
