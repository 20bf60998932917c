"""`barnabas lab consumer`: processes records as it is told, and logs each that it is done with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.cli.command import Command, CommandError
from barnabas.cli.common import warn
from barnabas.cli.lab_common import asked_for, program_options
from barnabas.cli.options import Parsed
from barnabas.lab.programs.knobs import CONSUMER

if TYPE_CHECKING:
    from confluent_kafka import Consumer

SIDE = "consumer"
_CRASHED: list[Consumer] = []
"""Consumers that must not be closed: without a reference the library would leave the group."""


def run(args: Parsed) -> int:
    from barnabas.lab.programs.options import ConsumerOptions

    options, properties = asked_for(args, SIDE, CONSUMER, ConsumerOptions)
    from barnabas.cli.lab_running import running, say
    from barnabas.client.connect import fetch_metadata, open_consumer
    from barnabas.lab.programs.consumer import Crashed, LabConsumer

    with running(options) as (stopping, log, journal):
        program = LabConsumer(
            options=options, log=log, journal=journal, say=say, is_stopped=stopping
        )
        config = options.config() | program.callbacks()
        consumer, troubles = open_consumer(properties, config, warn)
        fetch_metadata(consumer, troubles, options.topic)
        try:
            program.run(consumer, troubles)
        except Crashed as crash:
            _CRASHED.append(consumer)
            raise CommandError(str(crash)) from None
    say(f"{program.processed} processed")
    return stopping.status


COMMAND = Command(
    summary="Process the records of a topic, commit as told, and log each that is done with.",
    examples=(
        "--topic orders --auto-offset-reset earliest",
        "--topic orders --ack-every-x-msgs 50 --wait-after-record 200 --instance-id c1",
        "-Dconsumer.topic=orders -Dconsumer.ack-after-batch=true",
    ),
    options=program_options(SIDE, CONSUMER),
    run=run,
    notes=(
        (
            "Three values steer it and are never logged: quit (leave cleanly), crash (die without "
            "leaving), wait (block for --wait-cmd-period). Send one with: echo quit | "
            "kafka-console-producer --topic orders"
        ),
        (
            "Options can also be written as -Dconsumer.group-id=kitchen, or as lines "
            "consumer.group-id=kitchen of the file of --options."
        ),
        (
            "The client library is librdkafka, which commits the position of the record; here the "
            "position of the poll is committed, as Java's consumer does: by --ack-every-x-msgs at "
            "once, by auto-commit when the next poll begins, so never before the records of a poll "
            "are processed."
        ),
    ),
)
