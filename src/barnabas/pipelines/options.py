"""The options of the source and the sink: those of Spark's own Kafka connector.  Pure.

Names are taken in any case, as Spark takes them.  What cannot be meant is an error of one line that
names the option; what is not known is passed over, as Spark does, unless it looks like a slip.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.offsets import (
    EARLIEST,
    EDGES,
    LATEST,
    AtEdge,
    AtOffsets,
    AtTime,
    AtTimes,
    Bound,
    Place,
    parse_assign,
    parse_offsets,
    parse_times,
)

SERVERS = "kafka.bootstrap.servers"
SOURCE = (
    *("subscribe", "subscribePattern", "assign", "includeHeaders", "failOnDataLoss"),
    *("startingOffsets", "startingTimestamp", "startingOffsetsByTimestamp"),
    *("endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp"),
    *("startingOffsetsByTimestampStrategy", "minPartitions", "maxRecordsPerPartition"),
    *("maxOffsetsPerTrigger", "kafkaConsumer.pollTimeoutMs"),
)
SINK = ("topic", "exactlyOnce", "exactlyOnceId")
ELSEWHERE = ("minOffsetsPerTrigger", "maxTriggerDelay")
"""Options of Spark's connector that change what is read, and that Spark offers no Python source."""
TAKEN_CARE_OF = {
    "kafka.auto.offset.reset": "say startingOffsets instead",
    "kafka.key.deserializer": "keys come as bytes: cast them",
    "kafka.value.deserializer": "values come as bytes: cast them",
    "kafka.key.serializer": "keys are text or bytes",
    "kafka.value.serializer": "values are text or bytes",
    "kafka.enable.auto.commit": "a query's checkpoint has its offsets",
    "kafka.interceptor.classes": "there are none here",
}
DEFAULT_POLL_TIMEOUT_MS = 120_000
DEFAULT_FETCH_BYTES = 4 * 1024 * 1024
"""What a fetch asks for of a partition: enough for large arrays, little enough for many tasks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What is read: one of the three is set."""

    topics: tuple[str, ...] | None = None
    pattern: str | None = None
    places: tuple[Place, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    choice: Choice
    properties: dict[str, str]
    """Of the client, as a Java client has them: the options that begin with `kafka.`."""
    starting: Bound
    ending: Bound
    fail_on_data_loss: bool = True
    include_headers: bool = False
    late_start_is_latest: bool = False
    """A starting time after the last record means the end; otherwise it is an error."""
    min_partitions: int | None = None
    max_records: int | None = None
    max_offsets_per_trigger: int | None = None
    poll_timeout_ms: int = DEFAULT_POLL_TIMEOUT_MS
    fetch_bytes: int = DEFAULT_FETCH_BYTES
    fetch_wait_ms: int = 500
    is_committed_only: bool = False
    check_crcs: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkOptions:
    properties: dict[str, str]
    topic: str | None = None
    """Where every row goes, whatever its own column says."""
    exactly_once: bool = False
    exactly_once_id: str | None = None
    """The name under which a write is known, in place of that of its query."""


class _Given:
    """Options by name, in any case."""

    def __init__(self, options: Mapping[str, str], known: tuple[str, ...]) -> None:
        self._values = {name.lower(): str(value).strip() for name, value in options.items()}
        for name in self._values:
            _check_name(name, known)
        if not self._values.get(SERVERS):
            raise PipelineError(f"{SERVERS}: say where the brokers are, such as localhost:9092")

    def text(self, name: str) -> str | None:
        return self._values.get(name.lower())

    def switch(self, name: str, default: bool) -> bool:
        text = self.text(name)
        if text is None:
            return default
        if text.lower() not in ("true", "false"):
            raise PipelineError(f'{name}: "{text}" is neither true nor false')
        return text.lower() == "true"

    def number(self, name: str, *, least: int = 1) -> int | None:
        text = self.text(name)
        if text is None:
            return None
        if not re.fullmatch(r"-?\d+", text) or int(text) < least:
            raise PipelineError(f'{name}: "{text}" is not a whole number from {least} on')
        return int(text)

    def properties(self) -> dict[str, str]:
        return {
            name.removeprefix("kafka."): value
            for name, value in self._values.items()
            if name.startswith("kafka.")
        }

    def bound(self, which: str, default: int) -> Bound:
        """A time for all, then times, then offsets, as Spark's connector prefers them."""
        if (time_ms := self.number(f"{which}Timestamp", least=0)) is not None:
            return AtTime(time_ms)
        name = f"{which}OffsetsByTimestamp"
        if (text := self.text(name)) is not None:
            return AtTimes(parse_times(text, name))
        name = f"{which}Offsets"
        text = self.text(name)
        if text is None:
            return AtEdge(default)
        if text.lower() in EDGES:
            return AtEdge(EDGES[text.lower()])
        return AtOffsets(parse_offsets(text, name))


def _check_name(name: str, known: tuple[str, ...]) -> None:
    if name in TAKEN_CARE_OF:
        raise PipelineError(f"{name} cannot be set: {TAKEN_CARE_OF[name]}")
    for other in ELSEWHERE:
        if name == other.lower():
            raise PipelineError(f"{other} is not offered here; maxOffsetsPerTrigger is")
    names = {each.lower(): each for each in (*known, SERVERS)}
    if name in names or name.startswith("kafka."):
        return
    if near := difflib.get_close_matches(name, names, n=1, cutoff=0.85):
        raise PipelineError(f"{name}: there is no such option; {names[near[0]]} there is")


def source_options(options: Mapping[str, str], *, is_stream: bool) -> SourceOptions:
    given = _Given(options, SOURCE)
    properties = given.properties()
    starting = given.bound("starting", LATEST if is_stream else EARLIEST)
    ending = given.bound("ending", LATEST)
    if is_stream:
        _check_no_end(given)
    else:
        _check_ends(starting, ending)
    return SourceOptions(
        choice=_choice(given),
        properties=properties,
        starting=starting,
        ending=ending,
        fail_on_data_loss=given.switch("failOnDataLoss", True),
        include_headers=given.switch("includeHeaders", False),
        late_start_is_latest=_late_start(given),
        min_partitions=given.number("minPartitions"),
        max_records=given.number("maxRecordsPerPartition"),
        max_offsets_per_trigger=given.number("maxOffsetsPerTrigger"),
        poll_timeout_ms=given.number("kafkaConsumer.pollTimeoutMs", least=0)
        or DEFAULT_POLL_TIMEOUT_MS,
        fetch_bytes=given.number("kafka.max.partition.fetch.bytes") or DEFAULT_FETCH_BYTES,
        fetch_wait_ms=given.number("kafka.fetch.max.wait.ms") or 500,
        is_committed_only=_isolation(given),
        check_crcs=given.switch("kafka.check.crcs", True),
    )


def includes_headers(options: Mapping[str, str]) -> bool:
    """The one option that changes the columns of the source."""
    return _Given(options, SOURCE).switch("includeHeaders", False)


def sink_options(options: Mapping[str, str]) -> SinkOptions:
    given = _Given(options, SINK)
    properties = given.properties()
    exactly_once = given.switch("exactlyOnce", False)
    name = given.text("exactlyOnceId") or None
    if name is not None and not exactly_once:
        raise PipelineError("exactlyOnceId means nothing without exactlyOnce=true")
    if "transactional.id" in properties:
        raise PipelineError("kafka.transactional.id cannot be set: say exactlyOnce=true")
    return SinkOptions(
        properties=properties,
        topic=given.text("topic") or None,
        exactly_once=exactly_once,
        exactly_once_id=name,
    )


def _choice(given: _Given) -> Choice:
    names = ("subscribe", "subscribePattern", "assign")
    found = [(name, text) for name in names if (text := given.text(name)) is not None]
    if len(found) != 1:
        said = " and ".join(name for name, _ in found) or "none"
        raise PipelineError(f"say one of {', '.join(names)}, not {said}")
    ((name, text),) = found
    if not text:
        raise PipelineError(f"{name}: nothing to read")
    match name:
        case "assign":
            return Choice(places=tuple(parse_assign(text, name)))
        case "subscribePattern":
            try:
                re.compile(text)
            except re.error as error:
                raise PipelineError(f"subscribePattern: {text}: {error}") from None
            return Choice(pattern=text)
    topics = tuple(sorted({each.strip() for each in text.split(",")} - {""}))
    if not topics:
        raise PipelineError("subscribe: nothing to read")
    return Choice(topics=topics)


def _check_no_end(given: _Given) -> None:
    for name in ("endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp"):
        if given.text(name) is not None:
            raise PipelineError(f"{name}: a stream has no end; read a batch, or use availableNow")


def _check_ends(starting: Bound, ending: Bound) -> None:
    """A batch goes forward from something that is there."""
    if starting == AtEdge(LATEST) or ending == AtEdge(EARLIEST):
        raise PipelineError("a batch cannot start at latest, nor end at earliest")
    if not isinstance(starting, AtOffsets):
        starting = AtOffsets({})
    if not isinstance(ending, AtOffsets):
        ending = AtOffsets({})
    for place, offset in (*starting.offsets.items(), *ending.offsets.items()):
        if starting.offsets.get(place) == LATEST or ending.offsets.get(place) == EARLIEST:
            raise PipelineError("a batch cannot start at latest (-1), nor end at earliest (-2)")
        first = starting.offsets.get(place, 0)
        last = ending.offsets.get(place, LATEST)
        if last >= 0 and first > last:
            raise PipelineError(
                f"startingOffsets: {place[0]}-{place[1]} starts at {offset}, after its end {last}"
            )


def _late_start(given: _Given) -> bool:
    name = "startingOffsetsByTimestampStrategy"
    text = (given.text(name) or "error").lower()
    if text not in ("error", "latest"):
        raise PipelineError(f'{name}: "{text}" is neither error nor latest')
    return text == "latest"


def _isolation(given: _Given) -> bool:
    name = "kafka.isolation.level"
    text = (given.text(name) or "read_uncommitted").lower()
    if text not in ("read_committed", "read_uncommitted"):
        raise PipelineError(f'{name}: "{text}" is neither read_committed nor read_uncommitted')
    return text == "read_committed"
