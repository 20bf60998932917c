"""Writes the reference page of settings: `python -m barnabas.base.settings.document [file]`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from barnabas.base.settings.declared import single_groups, topic
from barnabas.base.settings.effects import effect_of
from barnabas.base.settings.groups import group_default_name
from barnabas.base.settings.legacy import RETIRED
from barnabas.base.settings.model import Setting
from barnabas.base.settings.registry import BROKER_SETTINGS, BROKER_SYNONYM, SECTIONS

PAGE = "docs/reference/settings.md"

_TOP = """\
# Settings
Every broker, topic and group setting of Kafka is known here: a properties file that serves Apache
Kafka starts Barnabas. The last column says what a setting does today.

    barnabas start --config server.properties --override log.retention.hours=24

A value comes from the first place that has one: the dynamic setting of the broker, the dynamic
setting of all brokers, the command line, the file, the default. A topic's own setting goes before
them all, and so does a group's own, within limits that the broker sets. A name with
`listener.name.<listener>.` before it counts for that listener alone.

This page is generated: run `python -m barnabas.base.settings.document`.

"""

_OLD = """\
## Old names
These are accepted. `host.name` and `port` are read as `listeners`, `advertised.host.name` and
`advertised.port` as `advertised.listeners`, `log.message.timestamp.difference.max.ms` as
`log.message.timestamp.before.max.ms` and `log.message.timestamp.after.max.ms`, and
`delegation.token.master.key` as `delegation.token.secret.key`. The others do nothing; so does
everything that begins with `zookeeper.ssl.`.

| Name | Why it does nothing |
|---|---|
"""


def render() -> str:
    """The whole page."""
    parts = [_TOP, _heading(topic.__doc__), _TOPIC_HEAD]
    parts += [_topic_row(setting) for setting in topic.SETTINGS]
    parts += ["\n", _heading(single_groups.__doc__), _TOPIC_HEAD]
    parts += [_group_row(setting) for setting in single_groups.SETTINGS]
    for section in SECTIONS:
        parts += ["\n", _heading(section.__doc__), _BROKER_HEAD]
        parts += [_broker_row(setting) for setting in section.SETTINGS]
    parts += ["\n", _OLD]
    parts += [f"| `{name}` | {reason} |\n" for name, reason in sorted(RETIRED.items())]
    return "".join(parts)


_TOPIC_HEAD = "| Setting | Type | Default | Broker's setting | Effect |\n|---|---|---|---|---|\n"
_BROKER_HEAD = "| Setting | Type | Default | Change | Effect |\n|---|---|---|---|---|\n"


def _heading(doc: str | None) -> str:
    title, _, intro = (doc or "").partition(": ")
    return f"## {title}\n{intro[:1].upper()}{intro[1:]}\n\n"


def _topic_row(setting: Setting) -> str:
    broker_name = BROKER_SYNONYM.get(setting.name)
    behind = f"`{broker_name}`" if broker_name in BROKER_SETTINGS else ""
    return _row(setting, behind)


def _group_row(setting: Setting) -> str:
    broker_name = group_default_name(setting.name)
    return _row(setting, "" if broker_name is None else f"`{broker_name}`")


def _broker_row(setting: Setting) -> str:
    return _row(setting, setting.update.value)


def _row(setting: Setting, fourth: str) -> str:
    rule = setting.kind.rule
    cells: Iterable[str] = (
        f"`{setting.name}`<br>{setting.doc}",
        f"{setting.kind.name}{': ' + rule if rule else ''}",
        _default(setting),
        fourth,
        effect_of(setting.name),
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def _default(setting: Setting) -> str:
    text = setting.render(setting.default)
    if text is None:
        return "none"
    return f"`{text}`" if text else "empty"


def main(arguments: list[str]) -> int:
    path = Path(arguments[0] if arguments else PAGE)
    path.write_text(render(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
