"""Starting and stopping a broker process: clean ends, clear refusals, nothing acknowledged lost."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from barnabas_process import BarnabasProcess
from broker_facts import create_topics
from confluent_kafka import Producer
from eventually import eventually
from quick_clients import PATIENCE_S, read_all, send, values
from wire_client import FETCH_VERSION, WireClient, fetch_request

BIN = Path(sys.executable).parent
CLEAN_MARKER = ".kafka_cleanshutdown"
LINE = re.compile(
    r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} (DEBUG|INFO|WARNING|ERROR|CRITICAL) +barnabas[\w.]*: .+"
)


def refused(
    *command: str | Path, cwd: Path, lines: int = 1, wrapper: tuple[str, ...] = ()
) -> list[str]:
    """Run a start that must fail: status 1, nothing on stdout but log lines, lines of stderr."""
    ended = subprocess.run(
        [*wrapper, *command], capture_output=True, text=True, check=False, timeout=60, cwd=cwd
    )
    assert ended.returncode == 1, ended
    said = ended.stderr.splitlines()
    assert len(said) == lines, ended
    assert "Traceback" not in ended.stdout + ended.stderr
    return said


def start(data_dir: Path, *extra: str | Path, listen: str = "127.0.0.1:0") -> list[str | Path]:
    return [BIN / "barnabas", "start", "--data-dir", data_dir, "--listen", listen, *extra]


# -- stopping


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda s: s.name)
def test_a_signal_stops_cleanly_and_the_next_start_recovers_nothing(
    tmp_path: Path, number: signal.Signals
) -> None:
    with BarnabasProcess(tmp_path) as broker:
        create_topics(broker.bootstrap, "t")
        send(broker.bootstrap, "t", [(None, b"kept")])
        assert not (tmp_path / CLEAN_MARKER).exists()
        assert broker.process is not None

        broker.process.send_signal(number)

        assert broker.process.wait(30) == 0
        assert (tmp_path / CLEAN_MARKER).exists()
        eventually(lambda: "stopped: broker 1" in broker.log)
        lines_of_first_run = len(broker.output)
        broker.start(same_port=True)
        assert values(read_all(broker.bootstrap, "t")) == [b"kept"]
        broker.stop()
        second_run = broker.output[lines_of_first_run:]
    assert not [line for line in second_run if "WARNING" in line or "built again" in line]


def test_after_a_kill_the_next_start_says_what_it_recovers(tmp_path: Path) -> None:
    with BarnabasProcess(tmp_path) as broker:
        create_topics(broker.bootstrap, "t")
        send(broker.bootstrap, "t", [(None, b"kept")])
        broker.kill()
        assert not (tmp_path / CLEAN_MARKER).exists()
        lines_of_first_run = len(broker.output)

        broker.start(same_port=True)

        assert values(read_all(broker.bootstrap, "t")) == [b"kept"]
        said = broker.output[lines_of_first_run:]
        assert [line for line in said if f"{tmp_path} was not closed cleanly" in line]


def test_stopping_under_load_loses_nothing_acknowledged(tmp_path: Path) -> None:
    acked: dict[int, bytes] = {}

    def delivered(error: object, message: object) -> None:
        if error is None:
            acked[message.offset()] = message.value()  # type: ignore[attr-defined]

    with BarnabasProcess(tmp_path) as broker:
        create_topics(broker.bootstrap, "t")
        producer = Producer({"bootstrap.servers": broker.bootstrap, "acks": 1, "linger.ms": 1})
        stopper: threading.Thread | None = None
        sent = 0
        while stopper is None or stopper.is_alive():
            try:
                producer.produce("t", b"%d" % sent, partition=0, on_delivery=delivered)
                sent += 1
            except BufferError:
                producer.poll(0.05)
            producer.poll(0)
            if stopper is None and len(acked) > 2_000:
                stopper = threading.Thread(target=broker.stop)
                stopper.start()
        stopper.join()
        producer.purge(in_queue=True, in_flight=True)
        producer.flush(PATIENCE_S)
        assert broker.process is not None
        assert broker.process.returncode == 0
        assert (tmp_path / CLEAN_MARKER).exists()
        broker.start(same_port=True)
        found = {m.offset(): m.value() for m in read_all(broker.bootstrap, "t")}

    assert len(acked) > 2_000
    assert {offset: found.get(offset) for offset in acked} == acked
    assert sorted(found) == list(range(len(found)))


def test_stopping_does_not_wait_for_long_polls(tmp_path: Path) -> None:
    with BarnabasProcess(tmp_path) as broker:
        create_topics(broker.bootstrap, "t")
        clients = [WireClient(broker.port, timeout_s=60) for _ in range(20)]
        try:
            for client in clients:
                client.send(fetch_request("t", max_wait_ms=3_600_000), FETCH_VERSION)

            broker.stop(timeout_s=20)  # an hour would be the other possibility

            for client in clients:
                client.read_to_end()  # an answer at most, then the end; a time-out is a failure
        finally:
            for client in clients:
                client.close()


# -- refusing to start


def test_a_second_broker_on_the_same_directory_is_told_so(
    broker: BarnabasProcess, tmp_path: Path
) -> None:
    (line,) = refused(*start(broker.data_dir), cwd=tmp_path)

    assert str(broker.data_dir) in line
    assert "in use" in line
    broker_still_works(broker)


def test_a_second_broker_on_the_same_port_is_told_so(
    broker: BarnabasProcess, tmp_path: Path
) -> None:
    (line,) = refused(*start(tmp_path / "data", listen=broker.bootstrap), cwd=tmp_path)

    assert broker.bootstrap in line
    assert "in use" in line
    assert not (tmp_path / "data").exists(), "a broker that cannot listen leaves no trace"
    broker_still_works(broker)


def broker_still_works(broker: BarnabasProcess) -> None:
    with WireClient(broker.port) as client:
        answer = client.call(fetch_request("no-such-topic"), FETCH_VERSION)
        assert answer.error_code == 0


@pytest.mark.parametrize("existing", [True, False], ids=["existing", "to be made"])
def test_a_data_directory_that_cannot_be_written_is_named(tmp_path: Path, existing: bool) -> None:
    folder = tmp_path / "locked"
    folder.mkdir()
    folder.chmod(0o500)
    powerless = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search")
    data_dir = folder if existing else folder / "data"

    (line,) = refused(
        *start(data_dir), cwd=tmp_path, wrapper=powerless if os.geteuid() == 0 else ()
    )

    assert str(data_dir) in line
    assert "Permission denied" in line


def test_a_data_directory_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a directory")

    (line,) = refused(*start(tmp_path / "file"), cwd=tmp_path)

    assert str(tmp_path / "file") in line


def test_a_directory_of_another_node_is_refused(tmp_path: Path) -> None:
    with BarnabasProcess(tmp_path / "data") as first:
        first.stop()

    (line,) = refused(*start(tmp_path / "data", "--override", "node.id=2"), cwd=tmp_path)

    assert "belongs to node 1, not 2" in line


def test_a_bad_value_in_a_file_names_file_line_key_and_value(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("# first\n\nlisteners=PLAINTEXT://127.0.0.1:0\nnum.partitions=many\n")

    for command in (["barnabas", "start", "--config"], ["kafka-server-start"]):
        (line,) = refused(BIN / command[0], *command[1:], file, cwd=tmp_path)

        for part in (str(file), "line 4", "num.partitions", "many"):
            assert part in line


def test_a_listener_that_is_not_served_yet_is_one_line(tmp_path: Path) -> None:
    for listener in ("SSL://127.0.0.1:0", "SASL_PLAINTEXT://127.0.0.1:0"):
        protocol = listener.partition(":")[0]
        (line,) = refused(*start(tmp_path / "data", listen=listener), cwd=tmp_path)

        assert f"{listener} is {protocol}" in line
    assert not (tmp_path / "data").exists()


def test_an_address_that_does_not_exist_is_one_line(tmp_path: Path) -> None:
    for host in ("192.0.2.1", "no-such-host.invalid"):
        (line,) = refused(*start(tmp_path / "data", listen=f"{host}:0"), cwd=tmp_path)

        assert host in line
        assert "cannot listen" in line


def test_python_without_assertions_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, "-O", "-m", "barnabas.cli.main", "start"]

    (line,) = refused(*command, "--data-dir", tmp_path / "data", cwd=tmp_path)

    assert "-O" in line
    assert not (tmp_path / "data").exists()


def test_a_log_level_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    (line,) = refused(*start(tmp_path / "data", "--log-level", "loud"), cwd=tmp_path)

    assert "loud" in line


# -- starting from a file, logging


def test_server_start_takes_a_file_and_overrides_and_warns_of_unknown_settings(
    tmp_path: Path,
) -> None:
    file = tmp_path / "server.properties"
    file.write_text(
        "node.id=5\nlisteners=PLAINTEXT://127.0.0.1:0\nlog.dirs=elsewhere\nnum.patritions=3\n"
    )
    started = subprocess.Popen(
        [
            *(BIN / "kafka-server-start", file),
            *("--override", f"log.dirs={tmp_path / 'data'}", "--override", "num.partitions=4"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    with started:
        assert started.stdout is not None
        assert started.stderr is not None
        ready = next(line for line in started.stdout if "started: " in line)
        port = int(re.search(r"127\.0\.0\.1:(\d+)", ready)[1])  # type: ignore[index]
        with WireClient(port) as client:
            from barnabas.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic

            request = MetadataRequest(topics=[MetadataRequestTopic(name="auto")])
            request.allow_auto_topic_creation = True
            client.call(request, 9)
            answer = eventually(
                lambda: found if (found := client.call(request, 9)).topics[0].partitions else None
            )
        started.send_signal(signal.SIGTERM)
        started.stdout.read()
        warning = started.stderr.read()

    assert started.returncode == 0
    assert len(answer.topics[0].partitions) == 4
    assert "broker 5" in ready
    assert (tmp_path / "data" / "meta.properties").exists()
    assert not (tmp_path / "elsewhere").exists()
    assert warning == f"warning: {file}, line 4: num.patritions is not a setting that is known.\n"


@pytest.mark.parametrize(
    ("level", "seen", "hidden"),
    [("debug", "INFO", "NOTHING"), ("info", "INFO", "DEBUG"), ("warning", "WARNING", "INFO")],
)
def test_every_event_is_one_line_and_the_level_is_kept(
    tmp_path: Path, level: str, seen: str, hidden: str
) -> None:
    process = subprocess.Popen(
        start(tmp_path / "data", "--log-level", level),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=tmp_path,
    )
    with process:
        port = eventually(lambda: listening_port(process.pid))
        with WireClient(port) as rude:
            rude.sock.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert rude.is_closed()
        process.send_signal(signal.SIGTERM)
        assert process.stdout is not None
        lines = process.stdout.read().splitlines()

    assert process.returncode == 0
    assert [line for line in lines if not LINE.fullmatch(line)] == []
    assert [line for line in lines if seen in line]
    assert [line for line in lines if hidden in line] == []


def listening_port(pid: int) -> int:
    """The port on which a process listens; 0 if it does not yet."""
    sockets = set()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            target = os.readlink(entry)
        except FileNotFoundError:  # closed since it was listed
            continue
        if target.startswith("socket:"):
            sockets.add(target[len("socket:[") : -1])
    for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[3] == "0A" and fields[9] in sockets:
            return int(fields[1].rpartition(":")[2], 16)
    return 0


def test_a_broker_whose_log_nobody_reads_any_more_goes_on(tmp_path: Path) -> None:
    process = subprocess.Popen(
        start(tmp_path / "data"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path
    )
    with process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert b"started" in process.stdout.readline()
        process.stdout.close()
        port = listening_port(process.pid)
        for _ in range(3):
            with WireClient(port) as rude:
                rude.sock.sendall(b"GET / HTTP/1.1\r\n\r\n")
                assert rude.is_closed()
        with WireClient(port) as client:
            assert client.call(fetch_request("none"), FETCH_VERSION).error_code == 0
        process.send_signal(signal.SIGTERM)
        said = process.stderr.read()

    assert (process.returncode, said) == (0, b"")
