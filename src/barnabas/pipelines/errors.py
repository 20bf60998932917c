"""What stops a pipeline, in one line for people."""

from __future__ import annotations


class PipelineError(Exception):
    """The pipeline cannot begin, or cannot go on; the text says why, and what to do about it."""


class DataLossError(PipelineError):
    """Records that were to be read are not there any more."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what}; to go on without them, set failOnDataLoss to false")
