"""`barnabas lab producer`: sends quotations, and logs each that was delivered."""

from __future__ import annotations

from barnabas.cli.command import Command
from barnabas.cli.common import warn
from barnabas.cli.lab_common import asked_for, program_options
from barnabas.cli.options import Parsed
from barnabas.lab.programs.knobs import PRODUCER

SIDE = "producer"


def run(args: Parsed) -> int:
    from barnabas.lab.programs.options import ProducerOptions

    options, properties = asked_for(args, SIDE, PRODUCER, ProducerOptions)
    from barnabas.cli.console_producer import check_topic
    from barnabas.cli.lab_running import running, say
    from barnabas.client.connect import fetch_metadata, open_producer
    from barnabas.lab.programs.producer import LabProducer

    with running(options) as (stopping, log, journal):
        program = LabProducer(
            options=options, log=log, journal=journal, say=say, is_stopped=stopping
        )
        config = options.config() | {"on_delivery": program.on_delivery}
        producer, troubles = open_producer(properties, config, warn)
        check_topic(fetch_metadata(producer, troubles, options.topic), options.topic)
        tally = program.run(producer, troubles)
    said = f"{tally.sent} sent, {tally.delivered} delivered"
    say(f"{said}, {tally.failed} failed: {tally.first_error}" if tally.failed else said)
    return stopping.status or (1 if tally.failed else 0)


COMMAND = Command(
    summary="Send numbered quotations to a topic, and log each that was delivered.",
    examples=(
        "--topic orders --num-records-per-roll 1000",
        "--topic orders --acks 0 --num-rolls 10 --wait-after-roll 1000",
        "-Dproducer.topic=orders -Dproducer.acks=1 -Dproducer.idempotent=false",
    ),
    options=program_options(SIDE, PRODUCER),
    run=run,
    notes=(
        (
            "Options can also be written as -Dproducer.acks=0, or as lines producer.acks=0 of the "
            "file of --options."
        ),
        (
            "The payload log has a line topic,partition,key,value for each record that the client "
            "library calls delivered: with acks=0 that is when it went to the socket. A record "
            "that failed is told and not in the log; the exit status is 1 then."
        ),
        (
            "The client library is librdkafka. Keys go to the partitions to which Java's producer "
            "puts them, and a lost broker is tried again as often as Java's does. Requests wait at "
            "most 300000 ms for an answer."
        ),
    ),
)
