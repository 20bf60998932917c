"""The pipelines as values: what each can be told, by flags or by a file, and nothing about how.

Pure.  `cli` makes options of these declarations, `docs/pipelines/reference.md` is checked against
them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from barnabas.pipelines.declaring import number, pairs, several, switch, text
from barnabas.pipelines.errors import PipelineError

PARQUET = "parquet"
JSON = "json"
LAKE_FORMATS = (PARQUET, JSON)
VALUE_FORMATS = ("json", "csv", "text", "bytes")
DIRECTORIES = ("topic", "date", "hour", "partition")
"""What directories of a lake can be made of, one in the other."""
DEFAULT_BOOTSTRAP = "localhost:9092"


@dataclass(frozen=True, kw_only=True)
class OnSpark:
    """Where a pipeline runs, and how it reaches the brokers."""

    bootstrap_server: str = text(
        "HOST:PORT,...",
        f"Brokers to connect to first; one that answers is enough. Default: {DEFAULT_BOOTSTRAP}.",
    )
    command_config: str = text(
        "FILE",
        "Java-style properties file with settings of the client: security.protocol, sasl.*, ...",
    )
    command_property: Mapping[str, str] = pairs(
        "KEY=VALUE", "One setting of the client; wins over the file. May be repeated."
    )
    master: str = text(
        "URL",
        "The Spark master: local[*] uses every core of this machine, spark://host:7077 a cluster. "
        "Default: local[*].",
        default="local[*]",
    )
    spark_conf: Mapping[str, str] = pairs(
        "KEY=VALUE", "One setting of Spark, such as spark.driver.memory=4g. May be repeated."
    )


@dataclass(frozen=True, kw_only=True)
class FromTopics(OnSpark):
    """A query that reads topics, goes on until it is stopped, and begins again where it was."""

    starting_offsets: str = text(
        "WHERE",
        'Where to begin the first time: earliest, latest, or JSON such as {"t": {"0": 23}}. '
        "Default: earliest.",
        default="earliest",
    )
    max_offsets_per_trigger: int = number(
        "NUMBER", "At most so many records a batch. Default: 1000000.", default=1_000_000, least=1
    )
    isolation: str = text(
        "LEVEL",
        "read_committed (the default) leaves out what belongs to no committed transaction, "
        "read_uncommitted does not.",
        default="read_committed",
        choices=("read_committed", "read_uncommitted"),
    )
    option: Mapping[str, str] = pairs(
        "NAME=VALUE",
        "One more option of the source, such as minPartitions=8 or failOnDataLoss=false. "
        "May be repeated.",
    )
    once: bool = switch("Do what is there now, and end. Otherwise it goes on until Ctrl-C.")
    every: int = number(
        "SECONDS",
        "Begin a batch so often. Default: 0, one after the other as records come.",
        default=0,
    )
    metrics: str = text("FILE", "Append a line of JSON for every batch: rows, rates, durations.")


@dataclass(frozen=True, kw_only=True)
class Archive(FromTopics):
    """Topics into a lake."""

    topic: tuple[str, ...] = several("TOPIC", "The topics to archive. May be repeated.")
    topic_pattern: str = text(
        "REGEX", "Archive all topics that match, in place of --topic; new ones are found."
    )
    to: str = text(
        "DIRECTORY",
        "The lake: a path, or any address that Spark can write to. Progress is kept in it.",
        required=True,
    )
    format: str = text(
        "FORMAT", "parquet (the default) or json.", default=PARQUET, choices=LAKE_FORMATS
    )
    values: str = text(
        "KIND",
        "How keys and values are kept: bytes (the default; base64 in JSON), or text where all of "
        "them are UTF-8.",
        default="bytes",
        choices=("bytes", "text"),
    )
    partition_by: tuple[str, ...] = several(
        "NAME,...",
        "Directories within each other, of topic, date, hour (both of the record's time, in UTC) "
        "and partition. Default: topic,date.",
        default=("topic", "date"),
    )
    compact_files: int = number(
        "NUMBER",
        "Make one file of a directory's small ones when there are so many. 0: never. Default: 16.",
        default=16,
    )
    compact_mb: int = number(
        "MB", "A file of this size is no small one any more. Default: 128.", default=128, least=1
    )

    def __post_init__(self) -> None:
        if bool(self.topic) == bool(self.topic_pattern):
            raise PipelineError("exactly one of --topic and --topic-pattern is needed")
        unknown = [name for name in self.partition_by if name not in DIRECTORIES]
        if unknown:
            listed = ", ".join(DIRECTORIES)
            raise PipelineError(f'--partition-by: "{unknown[0]}" is not one of {listed}')
        if self.compact_files == 1:
            raise PipelineError("--compact-files: one file cannot be made fewer: 0, or at least 2")


@dataclass(frozen=True, kw_only=True)
class Replay(OnSpark):
    """A lake back into topics, in the order of their offsets."""

    lake: str = text("DIRECTORY", "The lake that archive made.", required=True)
    checkpoint: str = text(
        "DIRECTORY",
        "Where progress is kept. The same command, given again, goes on where it was.",
        required=True,
    )
    topic: tuple[str, ...] = several("TOPIC", "Only these topics of the lake. May be repeated.")
    where: str = text("SQL", "Only such records, as in \"timestamp >= '2026-01-01'\".")
    rename: Mapping[str, str] = pairs(
        "OLD=NEW", "Write the records of a topic to another one. May be repeated."
    )
    partitions: str = text(
        "HOW",
        "keep (the default): into the partition it came from; key: where its key belongs in a "
        "topic of any size.",
        default="keep",
        choices=("keep", "key"),
    )
    offsets_per_batch: int = number(
        "NUMBER",
        "So many offsets of each partition are written in one transaction. Default: 100000.",
        default=100_000,
        least=1,
    )
    metrics: str = text("FILE", "Append a line of JSON for every batch: rows, rates, durations.")


@dataclass(frozen=True, kw_only=True)
class Transform(FromTopics):
    """A query, or a function, over topics into a topic."""

    topic: tuple[str, ...] = several(
        "TOPIC",
        "The topics to read, each a table of that name; NAME=TOPIC names it otherwise. "
        "May be repeated.",
        required=True,
    )
    from_format: Mapping[str, str] = pairs(
        "[TABLE=]FORMAT",
        "What values are: json (the default), csv, text or bytes, of all tables or of one.",
        bare=True,
    )
    schema: Mapping[str, str] = pairs(
        "[TABLE=]COLUMNS",
        'Columns of json and csv values, as in "symbol STRING, price DOUBLE, at TIMESTAMP".',
        bare=True,
    )
    watermark: Mapping[str, str] = pairs(
        "[TABLE=]COLUMN DELAY",
        'How late a record may come, as in "at 10 seconds"; windows and joins need it.',
        bare=True,
    )
    bad_values: str = text(
        "HOW",
        "What to do with a value that is not of its format: fail (the default) or skip.",
        default="fail",
        choices=("fail", "skip"),
    )
    query: str = text("SQL", "The query. In a .sql file it is what follows the settings.")
    function: str = text(
        "FILE.py:NAME",
        "A function of Python in place of a query: it gets a DataFrame for each topic, in their "
        "order, and returns one.",
    )
    to: str = text("TOPIC", "Where the rows go.", required=True)
    to_format: str = text(
        "FORMAT",
        "What they become: json (the default) or csv of all columns but key, headers and "
        "partition; text or bytes of the column value.",
        default="json",
        choices=VALUE_FORMATS,
    )
    mode: str = text(
        "MODE",
        "append (the default): rows that are final; update: rows that changed; complete: all.",
        default="append",
        choices=("append", "update", "complete"),
    )
    checkpoint: str = text(
        "DIRECTORY",
        "Where progress and state are kept. The same command, given again, goes on where it was.",
        required=True,
    )
    at_least_once: bool = switch("Write without transactions: faster, duplicates after a crash.")

    def __post_init__(self) -> None:
        if bool(self.query) == bool(self.function):
            raise PipelineError("exactly one of --query and --function is needed")
        for view, value in self.from_format.items():
            if value not in VALUE_FORMATS:
                listed = ", ".join(VALUE_FORMATS)
                named = f" of {view}" if view else ""
                raise PipelineError(f'--from-format{named}: "{value}" is not one of {listed}')


@dataclass(frozen=True, kw_only=True)
class Reconcile(OnSpark):
    """What was sent, beside what was received."""

    sent: tuple[str, ...] = several(
        "WHAT",
        "What was sent: payload logs (paths or patterns), topic:NAME, or lake:DIRECTORY. "
        "May be repeated.",
        required=True,
    )
    received: tuple[str, ...] = several(
        "WHAT", "What was received, in the same words. May be repeated.", required=True
    )
    topic: tuple[str, ...] = several("TOPIC", "Only records of these topics. May be repeated.")
    limit: int = number(
        "NUMBER", "How many differences of each kind to print. Default: 20.", default=20
    )
    to: str = text("DIRECTORY", "Also write every difference there, as Parquet.")
    isolation: str = text(
        "LEVEL",
        "Which records of a topic count: read_committed (the default) or read_uncommitted.",
        default="read_committed",
        choices=("read_committed", "read_uncommitted"),
    )
