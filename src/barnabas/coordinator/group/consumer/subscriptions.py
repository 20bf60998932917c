"""What a consumer group reads: patterns become topics, and topics that change a new epoch."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from barnabas.base.errors import InvalidRegularExpression
from barnabas.coordinator.group import records
from barnabas.coordinator.group.config import METADATA_REFRESH_MS, REGEX_MIN_INTERVAL_MS
from barnabas.coordinator.group.consumer.draft import Draft
from barnabas.coordinator.group.consumer.group import ConsumerGroup
from barnabas.coordinator.group.regex import InvalidPatternError, matching
from barnabas.protocol.messages.group_records import ConsumerGroupRegularExpressionValue

if TYPE_CHECKING:
    from barnabas.coordinator.group.state import GroupState
    from barnabas.coordinator.group.topics import TopicInfo, Topics

log = logging.getLogger(__name__)


def known_topics(group: ConsumerGroup, topics: Topics) -> dict[str, TopicInfo]:
    """The topics that the group reads, as far as they exist."""
    found = {name: topics.get(name) for name in group.subscribed_topics()}
    return {name: info for name, info in found.items() if info is not None}


def update_epoch(draft: Draft, topics: Topics, *, bump: bool) -> bool:
    """Note the topics as they are, and start a new epoch if they changed or `bump` says so."""
    group = draft.group
    known = known_topics(group, topics)
    if known != group.topics:
        draft.write(records.consumer_topics(group.group_id, known.values()))
        bump = True
    if bump:
        draft.write(records.consumer_epoch(group.group_id, group.epoch + 1))
    return bump


def refreshed(group: ConsumerGroup, now_ms: int) -> None:
    """Soft: the topics need no second look for a while."""
    group.refresh_at_ms = now_ms + METADATA_REFRESH_MS


# Patterns


def drop_unused_regex(draft: Draft, regex: str) -> None:
    """Forget what a pattern matched when the last member that used it has gone."""
    group = draft.group
    if regex in group.regexes and not group.regex_users.get(regex):
        draft.write(records.consumer_regex(group.group_id, regex, None))


def regexes_are_due(state: GroupState, group: ConsumerGroup, now_ms: int) -> bool:
    """Whether the group's patterns should be matched with the topics again."""
    wanted = group.regex_users.keys()
    if not wanted:
        return False
    if not wanted <= group.regexes.keys():
        return True
    last_ms, version = group.resolved_at_ms, group.resolved_version
    if last_ms is None:  # not by this coordinator yet: what its predecessor wrote counts
        resolved = [group.regexes[regex] for regex in wanted]
        last_ms = max(each.timestamp for each in resolved)
        version = max(each.version for each in resolved)
    if now_ms <= last_ms + REGEX_MIN_INTERVAL_MS:
        return False
    return (
        version != state.topics.version or now_ms > last_ms + state.config.consumer_regex_refresh_ms
    )


def resolve_regexes(state: GroupState, draft: Draft, now_ms: int, *, new: str = "") -> bool:
    """Match the group's patterns.  True if what they match has changed.

    InvalidRegularExpression if `new`, which the group did not have before, is not a pattern.  An
    older one that became too expensive, because there are more topics now, keeps what it matched.
    """
    group = draft.group
    names = list(state.topics.names())
    changed = False
    for regex in sorted(group.regex_users):
        before = group.regexes.get(regex)
        try:
            topics = matching(regex, names)
        except InvalidPatternError as error:
            if regex == new:
                raise InvalidRegularExpression(
                    f"SubscribedTopicRegex `{regex}` is not a valid regular expression: {error}."
                ) from None
            log.warning("group %s: %s: %s", group.group_id, regex, error)
            topics = before.topics if before else frozenset()
        if before is not None and before.topics == topics:
            continue
        changed = True
        value = ConsumerGroupRegularExpressionValue(
            topics=sorted(topics), version=state.topics.version, timestamp=now_ms
        )
        draft.write(records.consumer_regex(group.group_id, regex, value))
    return changed
