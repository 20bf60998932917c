"""One run of one scenario, from an empty folder to its result.

    cluster up -> play (programs, faults, recovery) -> journals -> history -> verdict -> result

The play decides nothing about the result: that is judged from the journals of the clients alone,
and, to name losses, from what the partitions hold in the end.
"""

from __future__ import annotations

import dataclasses
import functools
import time
import uuid
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, TypeVar

from confluent_kafka import KafkaException

from barnabas.client.errors import ClientError
from barnabas.lab.cluster.process import DidNotStart
from barnabas.lab.faults.expelling import delete_group
from barnabas.lab.faults.fault import NotPossible
from barnabas.lab.scenarios.catalogue import play_of
from barnabas.lab.scenarios.ledger import Ledger
from barnabas.lab.scenarios.program import ProgramError
from barnabas.lab.scenarios.result import Result
from barnabas.lab.scenarios.stage import Stage, StageError
from barnabas.lab.scenarios.watcher import Watcher
from barnabas.lab.timeline.live import Recorder
from barnabas.lab.timeline.model import Kind, Timeline
from barnabas.lab.verdict.journal import history_of
from barnabas.lab.verdict.judging import Verdict, judge, named_anew
from barnabas.lab.verdict.records import ReceivedRecord, SentRecord, StoredRecord

if TYPE_CHECKING:
    from barnabas.lab.cluster.base import Cluster
    from barnabas.lab.scenarios.declaration import Scenario

NO_CLUSTER = (DidNotStart, TimeoutError)
"""What keeps a cluster of the lab's own from being one; a setting that brokers refuse, for one."""
FAILURES = (*NO_CLUSTER, StageError, ProgramError, NotPossible, ClientError, KafkaException)
"""What a play, or the look at what it left behind, may meet that keeps it from its end; all else
is a bug, and stops the command."""
Keyed = TypeVar("Keyed", SentRecord, ReceivedRecord, StoredRecord)


@dataclasses.dataclass(frozen=True, slots=True)
class Run:
    """A result, and how it came about."""

    result: Result
    timeline: Timeline
    folder: Path


def run(
    scenario: Scenario, *, folder: Path, stream: TextIO | None, bootstrap: str | None = None
) -> Run:
    """Runs it to its end.  Whatever was started is stopped, however it ends.

    `folder` is empty, and keeps what the clients logged; `stream` is shown the timeline.  With
    `bootstrap` the cluster is somebody else's: only scenarios that are `outside` can be run, and
    their topics and groups are removed in the end.
    """
    recorder = Recorder(f"{scenario.name}  {scenario.title}", stream)
    began = time.monotonic()
    topic = scenario.topic.name
    if bootstrap is not None:
        topic = f"{topic}-{scenario.name}-{uuid.uuid4().hex[:8]}"
    ledger = Ledger(topic)
    with ExitStack() as stack:
        stack.callback(recorder.close)
        cluster = _cluster(scenario, bootstrap)
        stage = Stage(
            scenario, cluster=cluster, folder=folder, ledger=ledger, recorder=recorder, topic=topic
        )
        try:
            stack.enter_context(cluster)
        except NO_CLUSTER as error:
            verdict, failure = Verdict(), str(error).strip()
        else:
            if bootstrap is not None:
                stack.callback(_leave_as_it_was, stage)
            stack.callback(stage.end_programs)
            recorder.begin()
            verdict, failure = _played(stage, recorder)
        result = Result(
            scenario=scenario,
            verdict=verdict,
            seen=stage.seen,
            unseeable=frozenset(stage.unseeable),
            seconds=time.monotonic() - began,
            failure=failure,
        )
        counts = ", ".join(f"{count:,} {name}" for name, count in result.counts.items() if count)
        said = "it did not come to its end" if failure else counts or "nothing lost, nothing twice"
        recorder.mark(Kind.VERDICT, f"verdict: {said}")
    return Run(result, recorder.timeline, folder)


def _played(stage: Stage, recorder: Recorder) -> tuple[Verdict, str]:
    """The play and its verdict; or why there is none."""
    _tell_brokers(recorder, stage.cluster)
    try:
        with Watcher(stage.cluster, stage.topic, stage.ledger, recorder):
            play_of(stage.scenario)(stage)
        return _verdict(stage), ""
    except FAILURES as error:
        return Verdict(), str(error).strip()


def _leave_as_it_was(stage: Stage) -> None:
    """Nothing of the run stays in somebody else's cluster; if it has to, the timeline says so."""
    eyes = stage.cluster.eyes
    removals: list[tuple[str, Callable[[], None]]] = [
        (f"group {stage.group}", lambda: delete_group(eyes, stage.group)),
        *(
            (f"topic {name}", functools.partial(eyes.delete_topics, [name]))
            for name in stage.cluster.topics
        ),
    ]
    for what, remove in removals:
        try:
            remove()
        except ClientError as error:
            stage.step(f"{what} stays: {error}")


def _cluster(scenario: Scenario, bootstrap: str | None) -> Cluster:
    from barnabas.lab.cluster.cluster import LabCluster
    from barnabas.lab.cluster.outside import OutsideCluster

    if bootstrap is not None:
        return OutsideCluster(bootstrap)
    plan = scenario.cluster
    return LabCluster(plan.brokers, settings=dict(plan.settings), zookeeper=plan.zookeeper)


def _tell_brokers(recorder: Recorder, cluster: Cluster) -> None:
    numbers = ", ".join(map(str, sorted(cluster.brokers)))
    if len(cluster.brokers) > 1:
        recorder.mark(Kind.STEP, f"brokers {numbers} are up")
    else:
        what = f"broker {numbers} is up" if numbers else "somebody's cluster, behind our relays"
        recorder.mark(Kind.STEP, what)


def _verdict(stage: Stage) -> Verdict:
    """From what clients logged.  If anything is missing, the partitions are read: was it never
    there, or was the group led past it?
    """
    history = history_of(stage.ledger.events())
    by_key = bool(stage.programs)  # whose journals have no values: keys tell records apart
    history.sent += [_keyed(each) if by_key else each for each in stage.own.sent]
    history.received += [_keyed(each) if by_key else each for each in stage.own.received]
    history.ended.update(stage.own.ended)
    verdict = judge(history)
    if verdict.lost:
        from barnabas.lab.programs.reading import read_topic

        stored = read_topic({"bootstrap.servers": stage.cluster.bootstrap}, stage.topic)
        history.stored = [_keyed(each) if by_key else each for each in stored]
        verdict = named_anew(verdict, history)
    return verdict


def _keyed(record: Keyed) -> Keyed:
    return record._replace(value=None)
