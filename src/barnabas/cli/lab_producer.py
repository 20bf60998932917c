"""`barnabas lab producer`: sends quotations, and logs each that was delivered."""

from __future__ import annotations

from pathlib import Path

from barnabas.cli.command import Command
from barnabas.cli.common import client_properties, warn
from barnabas.cli.lab_common import described, program_options, say, texts_of
from barnabas.cli.options import Parsed
from barnabas.lab.programs.knobs import PRODUCER

SIDE = "producer"


def run(args: Parsed) -> int:
    texts = texts_of(args, SIDE, PRODUCER)
    properties = client_properties(args, files=["command-config"], pairs=["command-property"])
    from barnabas.lab.programs.options import ProducerOptions

    options: ProducerOptions = described(texts, ProducerOptions)
    from barnabas.cli.console_producer import check_topic
    from barnabas.cli.lab_common import Stopping
    from barnabas.client.connect import fetch_metadata, open_producer
    from barnabas.lab.programs.journaling import Journal
    from barnabas.lab.programs.payload_log import PayloadLog
    from barnabas.lab.programs.producer import LabProducer

    log_path = Path(options.log_dir) / options.log_name
    journal_path = None if options.journal is None else Path(options.journal)
    with (
        Stopping() as stopping,
        PayloadLog(log_path, truncate=options.payload_trunc) as log,
        Journal(journal_path, options.name) as journal,
    ):
        program = LabProducer(
            options=options, log=log, journal=journal, say=say, is_stopped=stopping
        )
        producer, troubles = open_producer(
            properties, options.config() | {"on_delivery": program.on_delivery}, warn
        )
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
