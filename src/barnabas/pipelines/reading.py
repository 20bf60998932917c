"""What pipelines say to the source and to Spark in the same way, from their definitions (pure)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from barnabas.pipelines.definition import FromTopics

if TYPE_CHECKING:
    from pyspark.sql.streaming.readwriter import DataStreamWriter


def connector_options(properties: Mapping[str, str]) -> dict[str, str]:
    """Properties of a Java client as options of the source and the sink."""
    return {f"kafka.{name}": value for name, value in properties.items()}


def stream_options(definition: FromTopics) -> dict[str, str]:
    """How topics are read; options that were given by name win."""
    return {
        "startingOffsets": definition.starting_offsets,
        "maxOffsetsPerTrigger": str(definition.max_offsets_per_trigger),
        "kafka.isolation.level": definition.isolation,
        **definition.option,
    }


def trigger_of(writer: DataStreamWriter, definition: FromTopics) -> DataStreamWriter:
    """When batches begin: all that is there, once; so often; or one after the other."""
    if definition.once:
        return writer.trigger(availableNow=True)
    return writer.trigger(processingTime=f"{definition.every} seconds")
