"""What a scenario is, as its file says it.  Pure: a TOML document in, scenarios out.

One file is one exercise.  It has what both halves share (cluster, topic, options of the programs)
and a section `[break]` or `[show]`, a section `[fix]`, or both.  A section may change any of what
is shared, and nothing else: so that reading a file shows what the fix *is*.  Both halves run the
same play, which is the code that does the faults.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

from barnabas.lab.scenarios.expectation import Count, Expectation

HALVES = ("break", "show", "fix")
"""Something goes wrong on purpose; nothing does; what keeps it from going wrong."""
SHARED = frozenset({"title", "question", "play", "next", "topic", "cluster", "outside"})
OPTIONS = frozenset({"producer", "consumer", "params"})
OWN = frozenset({"does", "takeaway", "expect", "see"})


class DeclarationError(Exception):
    """A file that is no scenario; the line says where and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPlan:
    """The cluster that a run starts for itself."""

    brokers: int = 1
    settings: Mapping[str, str] = field(default_factory=dict)
    zookeeper: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPlan:
    """The topic that the programs use; none if there are no partitions."""

    name: str = "lab"
    partitions: int = 1
    replication: int = 1
    configs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One half of an exercise, ready to be run."""

    name: str
    """How it is called on the command line: `3.4`, or `3.4-fix` where the file has both halves."""
    exercise: str
    """The name of the file, which is also that of its page in the docs."""
    half: str
    title: str
    question: str
    does: str
    """What happens, in one sentence."""
    play: str
    expect: Expectation
    takeaway: str
    next: Sequence[str] = ()
    outside: bool = False
    """Whether it can also be run with a cluster that is not the lab's."""
    cluster: ClusterPlan = field(default_factory=ClusterPlan)
    topic: TopicPlan = field(default_factory=TopicPlan)
    producer: Mapping[str, str] = field(default_factory=dict)
    consumer: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, int] = field(default_factory=dict)
    """Numbers of the play: how many records until what."""


def changed(scenario: Scenario, pairs: Mapping[str, str]) -> Scenario:
    """The same with other settings, such as `producer.acks` or `topic.min.insync.replicas`.

    What it predicts stays: that is of the scenario as it was written.
    """
    producer, consumer = dict(scenario.producer), dict(scenario.consumer)
    settings, configs = dict(scenario.cluster.settings), dict(scenario.topic.configs)
    params = dict(scenario.params)
    texts = {"producer": producer, "consumer": consumer, "cluster": settings, "topic": configs}
    for key, value in pairs.items():
        whose, _, name = key.partition(".")
        if whose == "params" and name in params and value.isdigit():
            params[name] = int(value)
        elif whose in texts and name:
            texts[whose][name] = value
        else:
            known = ", ".join([*texts, *(f"params.{each}" for each in params)])
            raise DeclarationError(f"{key}={value} changes nothing of {scenario.name}: {known}")
    return replace(
        scenario,
        producer=producer,
        consumer=consumer,
        params=params,
        cluster=replace(scenario.cluster, settings=settings),
        topic=replace(scenario.topic, configs=configs),
    )


def read_scenarios(exercise: str, document: Mapping[str, Any]) -> list[Scenario]:
    """The scenarios of one file; `DeclarationError` if it is not one."""
    halves = [half for half in HALVES if half in document]
    if not halves:
        raise DeclarationError(f"{exercise}: one of [break], [show] and [fix] is needed")
    _check(exercise, document, SHARED | OPTIONS | set(HALVES))
    return [
        _scenario(exercise, half, document, is_alone=len(halves) == 1 or half != "fix")
        for half in halves
    ]


def _scenario(exercise: str, half: str, document: Mapping[str, Any], *, is_alone: bool) -> Scenario:
    own = document[half]
    where = f"{exercise} [{half}]"
    _check(where, own, OWN | OPTIONS | {"topic", "cluster", "next", "title"})
    cluster = _merged(document, own, "cluster")
    topic = _merged(document, own, "topic")
    try:
        return Scenario(
            name=exercise if is_alone else f"{exercise}-fix",
            exercise=exercise,
            half=half,
            title=own.get("title", document["title"]),
            question=document["question"].strip(),
            does=own["does"].strip(),
            play=document["play"],
            expect=_expectation(where, own),
            takeaway=own["takeaway"].strip(),
            next=tuple(own.get("next", document.get("next", ()))),
            outside=document.get("outside", False),
            cluster=ClusterPlan(**cluster | {"settings": _texts(cluster.get("settings", {}))}),
            topic=TopicPlan(**topic | {"configs": _texts(topic.get("configs", {}))}),
            producer=_texts(_merged(document, own, "producer")),
            consumer=_texts(_merged(document, own, "consumer")),
            params=_merged(document, own, "params"),
        )
    except KeyError as error:
        raise DeclarationError(f"{where}: {error.args[0]} is missing") from None
    except TypeError as error:
        raise DeclarationError(f"{where}: {error}") from None


def _expectation(where: str, own: Mapping[str, Any]) -> Expectation:
    counts = own.get("expect", {})
    _check(f"{where} expect", counts, Expectation().counts().keys())
    try:
        return Expectation(
            **{name: Count.read(value) for name, value in counts.items()},
            sights=dict(own.get("see", {})),
        )
    except ValueError as error:
        raise DeclarationError(f"{where}: {error}") from None


def _merged(document: Mapping[str, Any], own: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A table of the file with what a half changes in it, one level of tables deep."""
    merged = dict(document.get(name, {}))
    for key, value in own.get(name, {}).items():
        if isinstance(value, dict):
            merged[key] = {**merged.get(key, {}), **value}
        else:
            merged[key] = value
    return merged


def _texts(table: Mapping[str, Any]) -> dict[str, str]:
    """Values as settings files spell them."""
    return {key: _text(value) for key, value in table.items()}


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check(where: str, table: Mapping[str, Any], known: Set[str]) -> None:
    unknown = sorted(table.keys() - known)
    if unknown:
        raise DeclarationError(f'{where}: "{unknown[0]}" is not known')
