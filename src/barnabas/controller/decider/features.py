"""Feature levels: what every node of the cluster has agreed to use.

A level is *finalized* in the journal; each node says which levels it *supports*.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import TYPE_CHECKING

from barnabas.base.errors import ApiError, InvalidUpdateVersion, code_for
from barnabas.base.settings import topic_defaults
from barnabas.controller.decider.decision import Decision, Environment
from barnabas.controller.decider.elections import reconsider
from barnabas.controller.decider.topic_rules import ELIGIBLE_LEADERS, MIN_ISR
from barnabas.controller.image_types import ResourceType, VersionRange
from barnabas.protocol.messages.metadata_records import ConfigRecord, FeatureLevelRecord
from barnabas.protocol.messages.update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

if TYPE_CHECKING:
    from barnabas.controller.image import ClusterImage
    from barnabas.protocol.message import Message

METADATA_VERSION = "metadata.version"
SUPPORTED: dict[str, VersionRange] = {
    METADATA_VERSION: VersionRange(7, 25),  # 3.3-IV3 to 4.0-IV3
    "group.version": VersionRange(0, 1),
    "transaction.version": VersionRange(0, 2),
    ELIGIBLE_LEADERS: VersionRange(0, 1),
}
"""Levels that this release works with."""
INITIAL: dict[str, int] = {METADATA_VERSION: 25, "group.version": 1, "transaction.version": 2}
"""Levels of a new cluster; what is not named is off until somebody switches it on."""
_SAME_RECORDS_SINCE = 23
"""From this metadata.version on (4.0-IV1) going back loses nothing that records say."""

_ELIGIBLE_SINCE = 23
"""The metadata.version whose records can tell eligible replicas."""


class UpgradeType(enum.IntEnum):
    """How far an update may go."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


def decide(
    image: ClusterImage, request: UpdateFeaturesRequest, now_ms: int, env: Environment
) -> Decision:
    """All updates of the request or none."""
    for update in request.feature_updates:
        try:
            _check(image, update, env)
        except ApiError as error:
            told = InvalidUpdateVersion(
                "The update failed for all features since the following feature had an error: "
                + error.message
            )
            return Decision(response=refuse(request, told))
    before = image.features.get(ELIGIBLE_LEADERS, 0)
    levels = {update.feature: update.max_version_level for update in request.feature_updates}
    records: tuple[Message, ...] = tuple(
        FeatureLevelRecord(name=name, feature_level=level)
        for name, level in levels.items()
        if image.features.get(name, 0) != level
    )
    results = [
        UpdatableFeatureResult(feature=update.feature, error_message="NONE")
        for update in request.feature_updates
    ]
    if levels.get(ELIGIBLE_LEADERS, before) != before:
        records += tuple(_eligible_leaders(image, levels[ELIGIBLE_LEADERS], records, env))
    return Decision(
        records=() if request.validate_only else records,
        response=UpdateFeaturesResponse(error_message=None, results=results),
    )


def _eligible_leaders(
    image: ClusterImage, level: int, records: tuple[Message, ...], env: Environment
) -> Iterator[Message]:
    """What else changes when eligible replicas are kept track of, or not any more.

    With them, there is one minimum ISR for the cluster, which brokers and controller agree on.
    """
    if level:
        default = topic_defaults(env.effective_config(image)).min_insync_replicas
        if MIN_ISR.name not in image.config(ResourceType.BROKER, ""):
            yield _min_isr("", str(default))
        for kind, name in image.configs:
            own = image.config(kind, name)
            if kind == ResourceType.BROKER and name and MIN_ISR.name in own:
                yield _min_isr(name, None)
    else:
        changed = image.fork()
        for record in records:
            changed.replay(record)
        yield from reconsider(changed, env)


def _min_isr(broker: str, value: str | None) -> ConfigRecord:
    return ConfigRecord(
        resource_type=ResourceType.BROKER, resource_name=broker, name=MIN_ISR.name, value=value
    )


def refuse(request: UpdateFeaturesRequest, error: Exception) -> UpdateFeaturesResponse:
    """The answer when nothing of the request could be done."""
    message = error.message if isinstance(error, ApiError) else None
    return UpdateFeaturesResponse(error_code=code_for(error), error_message=message)


def _check(image: ClusterImage, update: FeatureUpdateKey, env: Environment) -> None:
    name, level = update.feature, update.max_version_level
    kind = _upgrade_type(update)
    if level < 0:
        raise _invalid(update, "A feature version cannot be less than 0.")
    if kind is None:
        raise _invalid(update, "The controller does not support the given upgrade type.")
    _check_support(update, f"Local controller {env.config.node_id}", SUPPORTED.get(name))
    for broker in image.brokers.values():
        _check_support(update, f"Broker {broker.id}", broker.features.get(name))
    current = image.features.get(name, 0)
    if name == ELIGIBLE_LEADERS:
        _check_eligible(image, update)
    if level >= current:
        return
    if kind is UpgradeType.UPGRADE:
        raise _invalid(
            update,
            "Can't downgrade the version of this feature without setting the upgrade type to "
            "either safe or unsafe downgrade.",
        )
    if name == METADATA_VERSION and level < _SAME_RECORDS_SINCE:
        reason = (
            "Refusing to perform the requested downgrade because it might delete metadata "
            "information."
            if kind is UpgradeType.SAFE_DOWNGRADE
            else "Unsafe metadata downgrade is not supported in this version."
        )
        raise InvalidUpdateVersion(f"Invalid metadata.version {level}. {reason}")


def _check_eligible(image: ClusterImage, update: FeatureUpdateKey) -> None:
    if update.max_version_level and image.features.get(METADATA_VERSION, 0) < _ELIGIBLE_SINCE:
        raise _invalid(update, f"It needs metadata.version {_ELIGIBLE_SINCE}.")
    if not update.max_version_level and any(
        not partition.isr for topic in image.topics.values() for partition in topic.partitions
    ):
        raise _invalid(update, "There are partitions that nobody is in sync with.")


def _upgrade_type(update: FeatureUpdateKey) -> UpgradeType | None:
    if update.allow_downgrade:  # version 0 knows no unsafe downgrades
        return UpgradeType.SAFE_DOWNGRADE
    try:
        return UpgradeType(update.upgrade_type)
    except ValueError:
        return None


def _check_support(update: FeatureUpdateKey, who: str, levels: VersionRange | None) -> None:
    if levels is None:
        if update.max_version_level == 0 and not who.startswith("Local"):
            return  # to switch a feature off needs no support
        raise _invalid(update, f"{who} does not support this feature.")
    if not levels.min <= update.max_version_level <= levels.max:
        raise _invalid(update, f"{who} only supports versions {levels.min}-{levels.max}")


def _invalid(update: FeatureUpdateKey, reason: str) -> InvalidUpdateVersion:
    return InvalidUpdateVersion(
        f"Invalid update version {update.max_version_level} for feature {update.feature}. {reason}"
    )
