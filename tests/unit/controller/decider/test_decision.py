from __future__ import annotations

from random import Random
from typing import Any

from barnabas.base.ids import id_text
from barnabas.base.settings import BrokerConfig
from barnabas.controller.decider.decision import Environment
from barnabas.controller.sessions import BrokerSessions
from barnabas.protocol.messages.metadata_records import ConfigRecord


def environment(seed: int) -> Environment:
    config = BrokerConfig.from_properties({"node.id": "1"})
    return Environment(config=config, sessions=BrokerSessions(1), random=Random(seed))


def test_ids_come_from_the_seed_and_never_look_like_an_option() -> None:
    first, second = environment(4), environment(4)

    ids = [first.new_id() for _ in range(300)]

    assert ids == [second.new_id() for _ in range(300)]
    assert len(set(ids)) == 300
    assert not any(id_text(i).startswith("-") for i in ids)
    assert {i[6] >> 4 for i in ids} == {4}


def test_dynamic_settings_are_worked_out_once_for_each_change(single: Any) -> None:
    env = single.env
    assert env.effective_config(single.image) is env.config
    single.replay(
        ConfigRecord(resource_type=4, resource_name="", name="log.retention.ms", value="5")
    )
    first = env.effective_config(single.image)
    assert first.retention_ms == 5
    assert env.effective_config(single.image) is first
    single.replay(
        ConfigRecord(resource_type=4, resource_name="1", name="log.retention.ms", value="6")
    )
    assert env.effective_config(single.image).retention_ms == 6
