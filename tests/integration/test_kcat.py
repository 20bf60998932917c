"""kcat, Debian's librdkafka tool, against the broker."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Callable

import pytest
from barnabas_process import BarnabasProcess
from roundtrip import CODECS

SIZES = [1, 100, 10_000, 900_000]


def kcat(broker: BarnabasProcess, *args: str, data: bytes = b"") -> bytes:
    done = subprocess.run(
        ["kcat", "-b", broker.bootstrap, *args],
        input=data,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("acks", ["0", "1", "-1"])
def test_lines_come_back_as_they_were_sent(
    broker: BarnabasProcess, topic_name: Callable[[], str], codec: str, acks: str
) -> None:
    topic, rng = topic_name(), random.Random(3)
    lines = [rng.randbytes(size // 2 + 1).hex()[:size] for size in SIZES]
    text = "".join(f"{n}:{line}\n" for n, line in enumerate(lines)).encode()

    settings = ("-z", codec, "-X", f"acks={acks}", "-X", "message.max.bytes=1000000")
    kcat(broker, "-P", "-t", topic, "-p", "0", "-K", ":", "-H", "origin=kcat", *settings, data=text)
    found = kcat(
        broker, "-C", "-t", topic, "-o", "beginning", "-e", "-q", "-c", str(len(lines)),
        "-f", "%k:%s|%h\n",
    )  # fmt: skip

    assert found.decode().splitlines() == [
        f"{n}:{line}|origin=kcat" for n, line in enumerate(lines)
    ]


def test_null_values_and_seeking(broker: BarnabasProcess, topic_name: Callable[[], str]) -> None:
    topic = topic_name()
    kcat(broker, "-P", "-t", topic, "-p", "0", "-K", ":", "-Z", data=b"a:1\nb:\nc:3\n")

    found = kcat(broker, "-C", "-t", topic, "-o", "1", "-e", "-q", "-f", "%o %k %S %s\n")
    last = kcat(broker, "-C", "-t", topic, "-o", "-1", "-e", "-q", "-f", "%k\n")

    assert found.decode().splitlines() == ["1 b -1 ", "2 c 1 3"]
    assert last == b"c\n"


def test_metadata_and_offset_queries(
    broker: BarnabasProcess, topic_name: Callable[[], str]
) -> None:
    topic = topic_name()
    kcat(broker, "-P", "-t", topic, "-p", "0", data=b"one\ntwo\n")

    listing = json.loads(kcat(broker, "-L", "-J", "-t", topic))

    assert [b["name"] for b in listing["brokers"]] == [broker.bootstrap]
    assert listing["topics"][0]["partitions"][0]["leader"] == listing["brokers"][0]["id"]
    assert kcat(broker, "-Q", "-t", f"{topic}:0:-1").decode().strip() == f"{topic} [0] offset 2"
