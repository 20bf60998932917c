"""The lab's programs and helpers on a real broker."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from barnabas_process import BarnabasProcess
from confluent_kafka.admin import AdminClient, NewTopic
from lab_programs import LabPrograms, Program

from barnabas.client.group_admin import Group, GroupAdmin
from barnabas.lab.programs.reading import read_topic
from barnabas.lab.verdict.journal import What


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BarnabasProcess]:
    """Whose groups wait neither for members that may come nor long for those that are gone."""
    settings = ["group.initial.rebalance.delay.ms=0", "group.min.session.timeout.ms=500"]
    data = tmp_path_factory.mktemp("broker") / "data"
    with BarnabasProcess(data, *settings) as process:
        yield process


@pytest.fixture
def lab(
    broker: BarnabasProcess, topic_name: Callable[[], str], tmp_path: Path
) -> Iterator[LabPrograms]:
    with LabPrograms(tmp_path, broker.bootstrap, topic_name()) as programs:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        admin.create_topics([NewTopic(programs.topic, 1)])[programs.topic].result()
        yield programs


def members(lab: LabPrograms) -> int:
    admin = GroupAdmin.connect({"bootstrap.servers": lab.bootstrap}, print, timeout_s=30)
    group = admin.describe([lab.group])[lab.group]
    assert isinstance(group, Group), group
    return len(group.members)


def test_by_default_both_logs_are_the_same(lab: LabPrograms) -> None:
    lab.produce()
    lab.consume_all()

    assert lab.verdict().is_clean
    found = lab.lab("diff", "--json")
    assert found.returncode == 0, found.stderr
    document = json.loads(found.stdout)
    assert (document["sent"], document["received"], document["offending"]) == (100, 100, [])
    collected = lab.lab("collect")
    assert collected.stdout == (
        "producer.log: 100 records of 1 logs\nconsumer.log: 100 records of 1 logs\n"
    )
    sent = (lab.folder / "producer.log").read_bytes()
    assert sent == (lab.folder / "consumer.log").read_bytes()
    assert sent.count(b"\n") == 100
    again = lab.lab("diff")
    assert again.stdout.splitlines()[-1] == "nothing lost, nothing duplicated"
    assert lab.lab("clean").stdout == "removed producer.log\nremoved consumer.log\n"


def test_the_topic_says_whether_a_lost_record_is_there(lab: LabPrograms) -> None:
    lab.produce(num_records_per_roll=10)
    log = lab.folder / "producer" / "payload.log"
    processed = [line for line in log.read_text().splitlines() if line.split(",")[2] != "4"]
    log.write_text(log.read_text() + f"{lab.topic},0,77,never sent\n")
    (lab.folder / "consumer").mkdir()
    (lab.folder / "consumer" / "payload.log").write_text("".join(f"{one}\n" for one in processed))

    found = lab.lab("diff", "--json", "--bootstrap-server", lab.bootstrap)

    assert found.returncode == 1, found.stderr
    offending = {one["key"]: one for one in json.loads(found.stdout)["offending"]}
    assert set(offending) == {"4", "77"}
    stored = {
        record.key: record for record in read_topic({"bootstrap.servers": lab.bootstrap}, lab.topic)
    }
    assert offending["4"]["offset"] == stored["4"].offset
    assert offending["77"]["offset"] is None


def test_options_in_the_other_spelling_and_in_a_file_are_the_same(lab: LabPrograms) -> None:
    (lab.folder / "lab.properties").write_text(
        "producer.num-records-per-roll=7\nproducer.acks=1\nconsumer.idle-exit=3000\n"
    )
    sent = lab.lab(
        "producer",
        f"-Dproducer.bootstrap-server={lab.bootstrap}",
        f"-Dproducer.topic={lab.topic}",
        "-Dproducer.options=lab.properties",
        "-Dproducer.local-id=3",
        "-Dproducer.num-records-per-roll=5",
    )

    assert sent.returncode == 0, sent.stderr
    assert sent.stdout == (
        "idempotence is off: it is not possible with acks=1\n5 sent, 5 delivered\n"
    )
    lines = (lab.folder / "producer" / "payload-3.log").read_text().splitlines()
    assert sorted(line.split(",")[2] for line in lines) == ["0", "1", "2", "3", "4"]


def test_acks_and_offsets_are_those_of_the_broker(lab: LabPrograms) -> None:
    lab.produce(num_records_per_roll=50, acks=1)
    (program,) = lab._started
    acked = {
        key: (event.partition, offset)
        for event in program.events(What.ACKED)
        for key, offset in zip(event.keys, event.offsets, strict=True)
    }
    stored = read_topic({"bootstrap.servers": lab.bootstrap}, lab.topic)

    assert acked == {one.key: (one.partition, one.offset) for one in stored}


def test_quit_leaves_the_group_and_crash_does_not(lab: LabPrograms) -> None:
    leaving = lab.consumer("leaving")
    leaving.await_event(What.ASSIGNED)
    lab.steer("quit")
    assert leaving.wait() == 0, leaving.output()
    assert members(lab) == 0

    crashing = lab.consumer("crashing", session_timeout=45_000)
    crashing.await_event(What.ASSIGNED)
    lab.steer("crash")
    assert crashing.wait() == 1
    assert crashing.output().endswith("barnabas lab consumer: crashed, as the message said\n")
    assert members(lab) == 1
    assert lab.verdict().received == 0, "what steers is never logged"


def test_sigterm_commits_and_leaves(lab: LabPrograms) -> None:
    lab.produce(num_records_per_roll=10)
    first = lab.consumer(ac_interval=600_000)
    lab.await_processed(lambda keys: len(keys) == 10, first)
    assert first.stop() == 143

    assert members(lab) == 0
    second = lab.consume_all("second")
    assert second.events(What.PROCESSED) == []


def killed_after_the_first_commit(lab: LabPrograms, **options: object) -> Program:
    """A consumer that is dead once its first commit is done, and one that goes on where it was."""
    told = {"instance_id": "one", "max_poll_recs": 500, **options}
    first = lab.consumer("first", wait_after_record=20, **told)
    first.await_event(What.COMMITTED)
    first.kill()
    return lab.consume_all("second", **told)


def test_committing_the_position_of_the_poll_too_early_loses_records(lab: LabPrograms) -> None:
    lab.produce(num_records_per_roll=300)
    killed_after_the_first_commit(lab, ack_every_x_msgs=5)
    verdict = lab.verdict()

    assert verdict.lost
    assert not verdict.duplicated
    assert {one.name for one in verdict.lost} <= {"lost write", "unseen"}
    assert all(one.offset >= 0 for one in verdict.lost)


def test_committing_after_the_batch_loses_nothing(lab: LabPrograms) -> None:
    lab.produce(num_records_per_roll=100)
    killed_after_the_first_commit(lab, ack_after_batch="true", max_poll_recs=20)

    assert not lab.verdict().lost


def test_without_a_commit_all_comes_again(lab: LabPrograms) -> None:
    lab.produce(num_records_per_roll=20)
    first = lab.consumer("first", auto_commit="false", session_timeout=1500, heartbeat_interval=300)
    lab.await_processed(lambda keys: len(keys) == 20, first)
    first.kill()
    second = lab.consumer("second", auto_commit="false")
    lab.await_processed(lambda keys: len(keys) == 20, second)
    verdict = lab.verdict()

    assert len(verdict.duplicated) == 20
    assert {one.name for one in verdict.duplicated} == {"non-monotonic poll"}


def test_what_cannot_be_is_one_line(lab: LabPrograms) -> None:
    for arguments, complaint in (
        (["producer", "--acks", "2"], 'barnabas lab producer: --acks: "2" is not one of'),
        (
            ["producer", "--acks=1", "--idempotent"],
            "barnabas lab producer: --idempotent: needs acks=all and max-inflight of 5 or less",
        ),
        (["diff"], "barnabas lab diff: producer does not exist"),
        (["collect"], "barnabas lab collect: no payload logs in producer and consumer"),
        (["consumer", "--bootstrap-server", "localhost:1"], "broker not reachable at localhost:1"),
        (["dif"], 'barnabas lab: "dif" is not a command of the lab: did you mean diff?'),
    ):
        found = lab.lab(*arguments)
        assert found.returncode == 1, arguments
        assert found.stderr.startswith(complaint), found.stderr
        assert found.stderr.count("\n") == 1, found.stderr


def test_collected_logs_are_not_overwritten_unasked(lab: LabPrograms) -> None:
    (lab.folder / "producer").mkdir()
    (lab.folder / "producer" / "payload.log").write_text("t,0,1,a\n")
    (lab.folder / "producer.log").write_text("t,0,0,precious\n")

    refused = lab.lab("collect")
    assert refused.returncode == 1
    assert "producer.log will be overwritten. Go on? Say so with --yes." in refused.stderr
    assert (lab.folder / "producer.log").read_text() == "t,0,0,precious\n"
    assert lab.lab("collect", "--yes").returncode == 0
    assert (lab.folder / "producer.log").read_text() == "t,0,1,a\n"


def test_data_of_a_broker_that_runs_is_never_removed(
    lab: LabPrograms, tmp_path: Path, broker: BarnabasProcess
) -> None:
    refused = lab.lab("clean", "--data", "--yes", "--dir", str(broker.data_dir.parent))

    assert refused.returncode == 1
    assert "a broker runs on" in refused.stderr
    stopped = tmp_path / "data"
    stopped.mkdir()
    (stopped / "meta.properties").write_text("version=1\n")
    assert lab.lab("clean", "--data").returncode == 1, "asks first"
    assert lab.lab("clean", "--data", "--yes").stdout == "removed data\n"
    assert not stopped.exists()
