"""Several on one lake: archives that take it over, and replays beside them."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from barnabas_process import BarnabasProcess
from eventually import eventually
from pipeline_rounds import (
    BATCH_S,
    END_S,
    Killing,
    Sent,
    by_partition,
    check_lake,
    end_group,
    filled,
    make_topic,
    read_committed,
)
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from spark_here import run

from barnabas.pipelines import archive, replay
from barnabas.pipelines.archive import MB, Archiver
from barnabas.pipelines.definition import Archive, Replay
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.hadoop_files import HadoopFiles
from barnabas.pipelines.lake import with_lake
from barnabas.pipelines.lake_journal import Journal, description_of

TopicName = Callable[[], str]
LOCAL = ("--master", "local[2]")


@contextlib.contextmanager
def flowing(broker: BarnabasProcess, sent: Sent) -> Iterator[None]:
    """Records keep coming while this lasts."""
    enough = threading.Event()

    def send() -> None:
        while not enough.wait(0.3):
            sent.send(broker.bootstrap, 6)

    sender = threading.Thread(target=send)
    sender.start()
    try:
        yield
    finally:
        enough.set()
        sender.join()


@pytest.mark.timeout(900)
def test_an_archive_that_is_started_takes_the_lake_over(
    broker: BarnabasProcess, topic_name: TopicName, tmp_path: Path
) -> None:
    sent = filled(broker, topic_name())
    lives = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        arguments = (
            *("archive", "--topic", sent.topic, "--to", str(tmp_path / "lake")),
            *("--max-offsets-per-trigger", "300", "--compact-files", "8"),
        )
        lives.append(Killing(broker, tmp_path / name, arguments, random.Random(1), print))
    first, second = lives
    process = first.start(*LOCAL)
    try:
        with flowing(broker, sent):
            eventually(
                lambda: first.batches() > 1 or process.poll() is not None,
                timeout_s=BATCH_S,
                what="batches of the first archive",
            )
            second.ctrl_c(*LOCAL)
            assert process.wait(END_S) == 1, first.said()
    finally:
        end_group(process)
    assert re.search(
        r"another archive, process \d+ on \S+, took over this lake: only one may write to it\n\Z",
        first.said(),
    ), first.said()
    assert "Traceback" not in first.said()
    second.finish("--once", *LOCAL)
    check_lake(tmp_path / "lake", sent)


def archiver_of(spark: SparkSession, lake: str) -> Archiver:
    """An archive that takes a lake over."""
    files = HadoopFiles(spark, lake)
    return Archiver(
        spark=spark,
        root=lake,
        files=files,
        journal=Journal(files),
        description=description_of(files, lake),
        compact_files=1,
        compact_bytes=MB,
    )


def rewrite(spark: SparkSession, lake: str) -> None:
    """Makes other files of all that there are, as an archive does between two batches."""
    archiver = archiver_of(spark, lake)
    for directory in {os.path.dirname(each.path) for each in archiver.files.walk("")}:
        archiver._compact(directory)


@pytest.fixture
def archived(
    spark: SparkSession,
    broker: BarnabasProcess,
    properties: Mapping[str, str],
    topic_name: TopicName,
    tmp_path: Path,
) -> tuple[Sent, str]:
    """What was sent, and a lake that has it."""
    sent = filled(broker, topic_name())
    lake = str(tmp_path / "lake")
    definition = Archive(topic=(sent.topic,), to=lake, once=True, max_offsets_per_trigger=300)
    run(spark, lambda: archive.start(spark, definition, properties))
    return sent, lake


def test_a_replay_goes_on_while_files_are_merged(
    *,
    spark: SparkSession,
    broker: BarnabasProcess,
    properties: Mapping[str, str],
    archived: tuple[Sent, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent, lake = archived
    make_topic(broker, f"{sent.topic}-again")
    definition = Replay(
        lake=lake,
        checkpoint=str(tmp_path / "checkpoint"),
        rename={sent.topic: f"{sent.topic}-again"},
        offsets_per_batch=80,
    )
    write = replay._write
    attempts: list[int] = []

    def write_late(
        ends: DataFrame, plan: replay.Plan, number: int, rows: DataFrame, **more: object
    ) -> int:
        """The first time, what was listed is gone when it is read."""
        if number not in attempts:
            rewrite(spark, lake)
        attempts.append(number)
        return write(ends, plan, number, rows, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(replay, "_write", write_late)
    outcome = replay.run(
        spark,
        definition,
        properties,
        begin=lambda plan: rewrite(spark, lake),
        show=lambda batch, outcome: rewrite(spark, lake),
    )

    assert attempts == [0, 0, 1, 1, 2, 2]
    assert outcome.rows == 600
    assert read_committed(broker.bootstrap, f"{sent.topic}-again") == by_partition(sent)
    check_lake(Path(lake), sent)


def test_a_batch_that_fails_once_another_archive_took_over_says_so(
    spark: SparkSession, archived: tuple[Sent, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it had staged was cleared away: whatever Spark says of that is not the reason."""
    _, lake = archived
    archiver = archiver_of(spark, lake)
    monkeypatch.setattr(archive, "query_id", lambda spark: archiver.journal.last.query)
    broken = spark.range(1)

    with pytest.raises(AnalysisException):
        archiver.write_batch(broken, 100)
    archiver_of(spark, lake)
    with pytest.raises(PipelineError, match=r"another archive, .* took over this lake"):
        archiver.write_batch(broken, 100)


def test_an_error_that_no_merged_file_explains_is_not_tried_again(
    spark: SparkSession, archived: tuple[Sent, str]
) -> None:
    _, lake = archived
    uses: list[int] = []

    def use(rows: DataFrame) -> int:
        uses.append(1)
        return len(rows.selectExpr("raise_error('broken')").collect())

    with pytest.raises((PySparkException, Py4JJavaError), match="broken"):
        with_lake(spark, lake, use)
    assert len(uses) == 1


def test_a_replay_of_nothing_is_not_begun(
    spark: SparkSession, properties: Mapping[str, str], archived: tuple[Sent, str], tmp_path: Path
) -> None:
    sent, lake = archived
    checkpoint = tmp_path / "checkpoint"

    def refused(**asked: object) -> str:
        definition = Replay(lake=lake, checkpoint=str(checkpoint), **asked)  # type: ignore[arg-type]
        with pytest.raises(PipelineError) as caught:
            replay.run(
                spark, definition, properties, begin=lambda plan: None, show=lambda batch, so: None
            )
        assert not checkpoint.exists()
        return str(caught.value)

    assert refused(topic=("x",)) == f"--topic: x not in {lake}, which has {sent.topic}"
    assert refused(rename={"x": "y"}) == f"--rename: x not in {lake}, which has {sent.topic}"
    assert refused(where="offset < 0") == f"--where: no record in {lake} is such"


def test_a_file_is_created_once(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a file cannot have two names."""

    def refuse(source: str, target: str) -> None:
        raise OSError(errno.EPERM, "no links here")

    files = HadoopFiles(spark, str(tmp_path))
    for number, link in enumerate((os.link, refuse)):
        monkeypatch.setattr(os, "link", link)
        files.create(f"made/{number}.json", "first")
        with pytest.raises(FileExistsError):
            files.create(f"made/{number}.json", "second")
        assert files.read(f"made/{number}.json") == "first"
    assert files.names("made") == ["0.json", "1.json"]
    assert not list(tmp_path.glob("made/*.unfinished*"))
    assert not list(tmp_path.glob("made/.*.unfinished*"))


def test_what_is_not_there_is_missing_in_python_too(spark: SparkSession, tmp_path: Path) -> None:
    files = HadoopFiles(spark, str(tmp_path))

    assert (files.names("nowhere"), files.walk("nowhere")) == ([], [])
    with pytest.raises(FileNotFoundError):
        files.read("nothing")
    with pytest.raises(FileNotFoundError):
        files.move("nothing", "somewhere/else")
    files.copy("nowhere", "somewhere")
    files.delete("nothing")


def test_what_is_hidden_is_listed_nowhere_and_copied_all_the_same(
    spark: SparkSession, tmp_path: Path
) -> None:
    files = HadoopFiles(spark, str(tmp_path))
    for name in ("a/b/seen", "a/_hidden/x", "a/b/.hidden", "_hidden/y", "top"):
        files.write(name, name)

    assert [(each.path, each.size_bytes) for each in files.walk("")] == [
        ("a/b/seen", 8),
        ("top", 3),
    ]
    assert files.names("") == ["a", "top"]
    files.copy("a", "copies/of/a")
    assert files.read("copies/of/a/b/seen") == "a/b/seen"
    assert files.read("copies/of/a/_hidden/x") == "a/_hidden/x"
