"""Which topic names are allowed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from barnabas.base.errors import InvalidTopic

if TYPE_CHECKING:
    from barnabas.controller.image import ClusterImage

METADATA_TOPIC = "__cluster_metadata"
NAME_LENGTH_MAX = 249
"""Leaves room for a partition number in the names of directories."""
_LEGAL = re.compile(r"[a-zA-Z0-9._-]+", re.ASCII)


def check_name(name: str) -> None:
    """InvalidTopic unless a topic can have that name."""
    if not name:
        raise InvalidTopic("Topic name is invalid: the empty string is not allowed")
    if name in (".", ".."):
        raise InvalidTopic(f"Topic name is invalid: '{name}' is not allowed")
    if len(name) > NAME_LENGTH_MAX:
        raise InvalidTopic(
            f"Topic name is invalid: the length of '{name}' is longer than the max allowed "
            f"length {NAME_LENGTH_MAX}"
        )
    if not _LEGAL.fullmatch(name):
        raise InvalidTopic(
            f"Topic name is invalid: '{name}' contains one or more characters other than ASCII "
            "alphanumerics, '.', '_' and '-'"
        )


def check_collision(image: ClusterImage, name: str) -> None:
    """InvalidTopic if a topic differs from `name` only in dots and underscores.

    Metric names cannot tell the two characters apart.
    """
    for existing in image.similar_names(name):
        if existing != name:
            raise InvalidTopic(f"Topic '{name}' collides with existing topic: {existing}")
