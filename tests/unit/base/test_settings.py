"""The declarations: complete, documented, and described as Apache Kafka describes them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from barnabas.base.properties import parse_properties
from barnabas.base.settings import (
    BROKER_SETTINGS,
    GROUP_SETTINGS,
    TOPIC_SETTINGS,
    BrokerConfig,
    ConfigError,
    DescribedValue,
    Setting,
    describe_topic,
)
from barnabas.base.settings.document import PAGE, main, render
from barnabas.base.settings.effects import HONOURED
from barnabas.base.settings.legacy import RETIRED
from barnabas.base.settings.registry import BROKER_SYNONYM, broker_setting, broker_synonyms

SETTINGS = [*BROKER_SETTINGS.values(), *TOPIC_SETTINGS.values(), *GROUP_SETTINGS.values()]
ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: s.name)
def test_every_setting_is_documented_and_its_default_valid(setting: Setting) -> None:
    assert setting.doc.endswith(".")
    assert setting.doc[0].isupper() or setting.doc[0] in "*`"
    assert setting.effect
    if setting.default is not None:
        setting.check(setting.default)
        if not setting.is_sensitive:
            assert setting.parse(setting.render(setting.default) or "") == setting.default


def test_topic_settings_and_the_broker_settings_behind_them_are_of_one_kind() -> None:
    for name, broker_name in BROKER_SYNONYM.items():
        topic, broker = TOPIC_SETTINGS[name], BROKER_SETTINGS[broker_name]
        assert topic.type == broker.type
        assert broker.topic_override == name


def test_old_names_are_not_settings() -> None:
    assert not set(RETIRED) & set(BROKER_SETTINGS)


def test_only_settings_that_exist_are_called_honoured() -> None:
    assert {*BROKER_SETTINGS, *GROUP_SETTINGS} >= HONOURED


READ_THROUGH = {  # settings that the program asks for by a property, not by name
    "node.id": "node_id",
    "broker.id": "node_id",
    "log.dirs": "log_dirs",
    "log.dir": "log_dirs",
    "metadata.log.dir": "metadata_log_dir",
    "listeners": "listeners()",
    "advertised.listeners": "listeners()",
    "listener.security.protocol.map": "listeners()",
    "controller.listener.names": "listeners()",
    "inter.broker.listener.name": ".inter_broker",
    **{
        name: "group_int("
        for name in BROKER_SETTINGS
        if name.startswith(("group.consumer.min.", "group.consumer.max."))
        and name != "group.consumer.max.size"
    },
}


SETTING_OF = {**BROKER_SETTINGS, **GROUP_SETTINGS}


@pytest.mark.parametrize("name", sorted(HONOURED))
def test_a_setting_that_is_called_honoured_is_read_outside_this_room(name: str) -> None:
    override = SETTING_OF[name].topic_override
    signs = {f'"{name}"', READ_THROUGH.get(name, f'"{name}"')}
    if override is not None:
        signs.add(override.replace(".", "_"))
    files = [p for p in (ROOT / "src/barnabas").rglob("*.py") if "base" not in p.parts]

    assert any(sign in file.read_text() for file in files for sign in signs)


@pytest.mark.parametrize(
    ("name", "synonyms"),
    [
        ("num.partitions", ("num.partitions",)),
        ("log.roll.hours", ("log.roll.ms", "log.roll.hours")),
        ("log.flush.scheduler.interval.ms", ("log.flush.scheduler.interval.ms",)),
        ("listener.name.a.max.connections", ("listener.name.a.max.connections", "max.connections")),
        (
            "listener.name.a.plain.sasl.jaas.config",
            ("listener.name.a.plain.sasl.jaas.config", "sasl.jaas.config"),
        ),
    ],
)
def test_synonyms_go_from_the_strongest_down(name: str, synonyms: tuple[str, ...]) -> None:
    assert broker_synonyms(name) == synonyms
    assert broker_setting(name) is BROKER_SETTINGS[synonyms[-1] if "name" in name else name]


def test_a_bad_value_is_one_line_with_setting_and_value() -> None:
    with pytest.raises(ConfigError) as caught:
        BROKER_SETTINGS["num.partitions"].parse("0")

    assert str(caught.value) == "Invalid value 0 for num.partitions: must be at least 1."


# What Apache Kafka 4.3.1 answered to DescribeConfigs, for the same file and dynamic settings.
SCENARIOS = json.loads((Path(__file__).parent / "kafka_4_3_1_described.json").read_text())
Entries = dict[str, list[Any]]


def answer_of_kafka(scenario: str, what: str) -> Entries:
    """A scenario holds only what differs from the one before it; null for what is gone."""
    found: Entries = {}
    for name, content in SCENARIOS.items():
        found.update(content[what])
        if name == scenario:
            break
    return {name: entry for name, entry in found.items() if entry is not None}


def entries(described: Iterable[DescribedValue]) -> Entries:
    return {
        d.name: [
            d.value,
            d.source,
            d.sensitive,
            d.read_only,
            d.type.name,
            [list(synonym) for synonym in d.synonyms],
        ]
        for d in described
    }


def config_of(scenario: str) -> BrokerConfig:
    content = SCENARIOS[scenario]
    config = BrokerConfig.from_properties(parse_properties(content["properties"]))
    return config.with_dynamic(content["cluster"], content["broker"])


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_broker_is_described_as_kafka_describes_it(scenario: str) -> None:
    config = config_of(scenario)

    ours = entries(config.describe(name) for name in config.described_names())

    assert len(ours) >= 340
    assert ours == answer_of_kafka(scenario, "of_broker")


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_all_brokers_are_described_as_kafka_describes_them(scenario: str) -> None:
    config = config_of(scenario)

    names = config.described_names(cluster_only=True)
    ours = entries(config.describe(name, cluster_only=True) for name in names)

    assert ours == answer_of_kafka(scenario, "of_cluster")


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_topic_is_described_as_kafka_describes_it(scenario: str) -> None:
    ours = entries(describe_topic(config_of(scenario), SCENARIOS[scenario]["topic"]))

    assert ours == answer_of_kafka(scenario, "of_topic")


def test_every_setting_that_kafka_shows_is_declared_with_its_type() -> None:
    for name, entry in answer_of_kafka("defaults", "of_broker").items():
        assert BROKER_SETTINGS[name].type.name == entry[4]
    for name, entry in answer_of_kafka("defaults", "of_topic").items():
        assert TOPIC_SETTINGS[name].type.name == entry[4]


def test_the_reference_page_is_up_to_date(tmp_path: Path) -> None:
    written = tmp_path / "settings.md"

    assert main([str(written)]) == 0
    assert written.read_text() == render() == (ROOT / PAGE).read_text(), (
        "run: python -m barnabas.base.settings.document"
    )


def test_the_reference_page_names_every_setting() -> None:
    page = render()

    assert [setting.name for setting in SETTINGS if f"| `{setting.name}`" not in page] == []


def test_importing_base_loads_only_the_standard_library_and_nothing_slow() -> None:
    program = """
import sys
import barnabas.base.errors, barnabas.base.ids, barnabas.base.clock
import barnabas.base.properties, barnabas.base.settings
print(*sorted({name.partition(".")[0] for name in sys.modules} - sys.stdlib_module_names))
print(*sorted(name for name in sys.modules if name.startswith("barnabas.")))
print(*({"asyncio", "logging", "json", "dis", "tokenize"} & set(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-S", "-c", program],
        env={"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    top_level, ours, slow = done.stdout.split("\n")[:3]

    assert top_level.split() == ["__main__", "barnabas"]
    assert all(name.startswith("barnabas.base") for name in ours.split())
    assert "barnabas.base.settings.document" not in ours.split()
    assert slow.split() == []
