"""What the commands of `barnabas pipeline` share: options of definitions, sessions, progress."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from barnabas.cli.command import CommandError, Terminated
from barnabas.cli.common import check_bootstrap, read_file
from barnabas.cli.options import INT_MAX, Option, Parsed, UsageError
from barnabas.pipelines.declaring import Kind, Setting, build, settings_of
from barnabas.pipelines.errors import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from barnabas.cli.progress import Progress
    from barnabas.pipelines.definition import FromTopics, OnSpark
    from barnabas.pipelines.running import Batch, Outcome

Definition = TypeVar("Definition", bound="OnSpark")
Streaming = TypeVar("Streaming", bound="FromTopics")

SHUFFLE_PARTITIONS = "8"

FILE = Option(
    name="file",
    value="FILE",
    help="A definition of the pipeline: these options as TOML or YAML, or in comments above the "
    "query of a .sql file. Options that are typed win.",
)


def options_of(definition: type) -> tuple[Option, ...]:
    """The options of a command: what its definition declares, and a file with the same in it."""
    return (FILE, *(_option(each) for each in settings_of(definition)))


def _option(setting: Setting) -> Option:
    return Option(
        name=setting.name,
        aliases=("broker-list",) if setting.name == "bootstrap-server" else (),
        value=setting.value,
        help=setting.help,
        choices=setting.choices,
        whole=(setting.least, INT_MAX) if setting.kind is Kind.NUMBER else None,
        many=setting.kind in (Kind.SEVERAL, Kind.PAIRS),
    )


def read_definition(args: Parsed, definition: type[Definition]) -> Definition:
    """The pipeline that was asked for, by options and by a file."""
    from barnabas.pipelines.definition_files import read_definition as read

    path = args.text("file")
    typed: dict[str, object] = {}
    for setting in settings_of(definition):
        if args.has(setting.name):
            match setting.kind:
                case Kind.SWITCH:
                    typed[setting.name] = True
                case Kind.SEVERAL | Kind.PAIRS:
                    typed[setting.name] = args.texts(setting.name)
                case _:
                    typed[setting.name] = args.text(setting.name)
    try:
        return build(definition, typed, {} if path is None else read(path))
    except PipelineError as error:
        raise UsageError(str(error)) from None


def properties_of(definition: OnSpark) -> dict[str, str]:
    """The client's properties: a file, what was given one by one, and where the brokers are."""
    from barnabas.pipelines.definition import DEFAULT_BOOTSTRAP

    properties: dict[str, str] = {}
    if definition.command_config:
        properties |= read_file("command-config", definition.command_config)
    properties |= definition.command_property
    if definition.bootstrap_server:
        properties["bootstrap.servers"] = definition.bootstrap_server
    properties.setdefault("bootstrap.servers", DEFAULT_BOOTSTRAP)
    check_bootstrap(properties["bootstrap.servers"])
    return properties


def check_reachable(properties: Mapping[str, str]) -> None:
    """That nobody listens is said at once, not when Spark has started."""
    from barnabas.client.addresses import find_listening
    from barnabas.client.connect import REACH_TIMEOUT_S
    from barnabas.client.errors import NotReachableError

    servers = properties["bootstrap.servers"]
    if find_listening(servers, timeout_s=REACH_TIMEOUT_S) is None:
        raise NotReachableError(servers)


@contextlib.contextmanager
def session(name: str, definition: OnSpark) -> Iterator[SparkSession]:
    """A Spark session, stopped in the end.  What goes wrong is one line."""
    from barnabas.pipelines.running import reason_of
    from barnabas.pipelines.spark import prepare, start_session

    try:
        prepare()  # without Spark there is no error of Spark to catch
    except PipelineError as error:
        raise CommandError(str(error)) from None
    quiet = resources.files("barnabas.pipelines") / "log4j2.properties"
    os.environ.setdefault("SPARK_SUBMIT_OPTS", f"-Dlog4j2.configurationFile={quiet}")
    # Py4J tells the root logger, with a traceback, of every call that a signal has ended.
    logging.getLogger().addHandler(logging.NullHandler())
    from py4j.protocol import Py4JError, Py4JJavaError
    from pyspark import accumulators
    from pyspark.errors import PySparkException

    # A thread of PySpark's tells of a JVM that is gone in the same way.
    for server in (accumulators.AccumulatorTCPServer, accumulators.AccumulatorUnixServer):
        server.handle_error = _say_nothing  # type: ignore[method-assign, assignment]
    spark = None
    try:
        with _interrupts_end_it():
            spark = start_session(
                f"barnabas pipeline {name}",
                master=definition.master,
                settings={**_defaults(definition.master), **definition.spark_conf},
            )
        yield spark
    except PipelineError as error:
        raise CommandError(str(error)) from None
    except (PySparkException, Py4JJavaError) as error:
        raise CommandError(reason_of(str(error))) from None
    except Py4JError:
        raise CommandError("Spark ended in the middle of it: start the command again") from None
    finally:
        if spark is not None:
            with contextlib.suppress(Py4JError, OSError):  # its JVM may be gone already
                spark.stop()


@contextlib.contextmanager
def _interrupts_end_it() -> Iterator[None]:
    """Ctrl-C ends this process on the spot, and what hangs on it notices and ends, too.

    PySpark, interrupted in an orderly way while it starts a JVM, would leave that behind.
    It also brings a handler of its own, which asks the JVM from within whatever it has been asked
    just then: in the end there is Python's again.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _say_nothing(*_: object) -> None:
    """What goes wrong with the JVM is told by who asks it."""


def check_metrics(path: str) -> None:
    """That they cannot be written is said at once, too."""
    try:
        if path:
            Path(path).open("a", encoding="utf-8").close()
    except OSError as error:
        raise CommandError(f"--metrics: {path}: {error.strerror}") from None


def _defaults(master: str) -> dict[str, str]:
    """Spark's own are made for clusters: 200 tasks where a laptop has 8 cores."""
    if not master.startswith("local"):
        return {}
    return {"spark.sql.shuffle.partitions": SHUFFLE_PARTITIONS, "spark.driver.host": "127.0.0.1"}


def run_stream(
    args: Parsed,
    kind: type[Streaming],
    *,
    name: str,
    what: str,
    start: Callable[[SparkSession, Streaming, Mapping[str, str]], StreamingQuery],
) -> int:
    """Runs a pipeline that reads topics, to its end; the exit status."""
    definition = read_definition(args, kind)
    properties = properties_of(definition)
    check_reachable(properties)
    check_metrics(definition.metrics)
    from barnabas.cli.progress import Progress
    from barnabas.pipelines import running

    with session(name, definition) as spark, Progress(what) as progress:
        outcome = running.run(
            spark,
            lambda: start(spark, definition, properties),
            metrics=definition.metrics,
            show=Shown(progress, what),
        )
    return ending(what, outcome)


class Shown:
    """How far a pipeline is: a bar on a terminal, and one line in the end."""

    def __init__(self, progress: Progress, what: str) -> None:
        self._progress = progress
        self._what = what

    def __call__(self, batch: Batch, outcome: Outcome) -> None:
        self._progress.at(outcome.rows, what=f"{self._what}: batch {batch.batch}")


def ending(what: str, outcome: Outcome) -> int:
    """Says what was done; the exit status, which is that of the signal that ended it."""
    batches = "1 batch" if outcome.batches == 1 else f"{outcome.batches:,} batches"
    rows = f"{outcome.rows:,} records in {batches}"
    print(f"{what}: {rows}{', stopped' if outcome.stopped_by else ''}", file=sys.stderr)
    if outcome.stopped_by == signal.SIGINT:
        raise KeyboardInterrupt
    if outcome.stopped_by:
        raise Terminated
    return 0
