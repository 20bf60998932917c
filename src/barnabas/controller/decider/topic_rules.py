"""The settings of topics that decide about leaders: unclean elections and the minimum ISR."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from barnabas.base.errors import InvalidConfig
from barnabas.base.settings import TOPIC_SETTINGS, topic_defaults

if TYPE_CHECKING:
    from barnabas.controller.decider.decision import Environment
    from barnabas.controller.image import ClusterImage
    from barnabas.controller.image_types import TopicImage

ELIGIBLE_LEADERS = "eligible.leader.replicas.version"
"""The feature that keeps track of eligible replicas (KIP-966)."""
UNCLEAN = TOPIC_SETTINGS["unclean.leader.election.enable"]
MIN_ISR = TOPIC_SETTINGS["min.insync.replicas"]


class TopicRules:
    """Reads them for one decision; defaults are those of the controller's node."""

    __slots__ = ("_defaults", "_image", "keeps_eligible")

    def __init__(self, image: ClusterImage, env: Environment) -> None:
        self._image = image
        self._defaults = topic_defaults(env.effective_config(image))
        self.keeps_eligible = keeps_eligible(image)

    def allows_unclean(self, topic: TopicImage) -> bool:
        """Whether a replica that was not in sync may lead when nobody else can."""
        text = self._image.topic_config(topic.name).get(UNCLEAN.name)
        default: bool = self._defaults.unclean_leader_election_enable
        return default if text is None else bool(UNCLEAN.parse(text))

    def min_isr(self, topic: TopicImage, replicas: Sequence[int]) -> int:
        """The smallest ISR with which records are committed: never more than all replicas."""
        text = self._image.topic_config(topic.name).get(MIN_ISR.name)
        value = self._defaults.min_insync_replicas if text is None else MIN_ISR.parse(text)
        assert isinstance(value, int)
        return min(value, len(replicas))


def keeps_eligible(image: ClusterImage) -> bool:
    """Whether the cluster keeps track of eligible replicas."""
    return image.features.get(ELIGIBLE_LEADERS, 0) > 0


def check_min_isr(image: ClusterImage, broker: str, wanted: Mapping[str, str]) -> None:
    """InvalidConfig if brokers and controller could then disagree about the minimum ISR.

    Who is eligible depends on it, so with that feature on it is one for the whole cluster, and set.
    """
    if not keeps_eligible(image):
        return
    if broker:
        raise InvalidConfig(
            "Broker-level min.insync.replicas cannot be altered while ELR is enabled."
        )
    if MIN_ISR.name not in wanted:
        raise InvalidConfig(
            "Cluster-level min.insync.replicas cannot be removed while ELR is enabled."
        )
