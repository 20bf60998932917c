"""Options of the lab's programs, declared once: command line, files and `--help` all read this.

Every option can be given as `--acks 0`, as `-Dproducer.acks=0`, and as a line `producer.acks=0` of
a properties file.  Defaults are those of Kafka's own clients where these have one.  Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

INT_MAX = 2**31 - 1
POLL_MAX = 1_000_000
"""Records that the client library gives at once, at most."""


class KnobError(Exception):
    """A value that an option cannot have; one line that names the option."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Knob:
    """One option.  Its value is a text, a whole number if `whole`, or a switch if `is_switch`."""

    name: str
    help: str
    default: str | None = None
    """As it would be typed; None for an option that is off, or that others decide."""
    unit: str = "TEXT"
    """What `--help` calls the value."""
    whole: tuple[int, int] | None = None
    choices: tuple[str, ...] = ()
    is_switch: bool = False

    @property
    def field(self) -> str:
        return self.name.replace("-", "_")

    def read(self, text: str) -> Any:
        """The value that a text means; `KnobError` if none."""
        if self.is_switch:
            if text.strip().lower() not in ("true", "false"):
                raise KnobError(f'{self.name}: "{text}" is neither true nor false')
            return text.strip().lower() == "true"
        if self.whole is not None:
            return self._number(text)
        if self.choices and text not in self.choices:
            raise KnobError(f'{self.name}: "{text}" is not one of {", ".join(self.choices)}')
        return text

    def _number(self, text: str) -> int:
        assert self.whole is not None
        least, most = self.whole
        try:
            number = int(text)
        except ValueError:
            raise KnobError(f'{self.name}: "{text}" is not a whole number') from None
        if not least <= number <= most:
            bound = f"at least {least}" if number < least else f"at most {most}"
            raise KnobError(f"{self.name}: {number} is out of range: {bound}")
        return number


def _count(
    name: str,
    default: int,
    help: str,  # noqa: A002
    *,
    least: int = 0,
    most: int = INT_MAX,
) -> Knob:
    return Knob(name=name, default=str(default), unit="NUMBER", whole=(least, most), help=help)


def _ms(name: str, default: int, help: str, *, least: int = 0) -> Knob:  # noqa: A002
    return Knob(name=name, default=str(default), unit="MS", whole=(least, INT_MAX), help=help)


def _switch(name: str, default: bool | None, help: str) -> Knob:  # noqa: A002
    text = None if default is None else str(default).lower()
    return Knob(name=name, default=text, unit="true|false", is_switch=True, help=help)


def _shared(side: str) -> tuple[Knob, ...]:
    return (
        Knob(name="topic", default="test-topic", unit="NAME", help="The topic."),
        Knob(
            name="local-id",
            default="-1",
            unit="NUMBER",
            whole=(-1, INT_MAX),
            help="Number of this program among several: its payload log is payload-N.log. With -1 "
            "it is payload.log.",
        ),
        _switch("payload-trunc", False, "Empty the payload log at the start."),
        Knob(
            name="log-dir",
            default=side,
            unit="DIR",
            help="Directory of the payload log; made if it is not there.",
        ),
        Knob(
            name="journal",
            unit="FILE",
            help="Also write what happens, with offsets and times, to this file: a JSON object a "
            "line.",
        ),
        Knob(name="name", default=side, unit="NAME", help="Who this is in the journal."),
    )


PRODUCER = (
    *_shared("producer"),
    _count("num-rolls", 1, "How many cycles to send.", least=1),
    _count("num-records-per-roll", 100, "Records in a cycle.", least=1),
    _ms("wait-after-roll", 5000, "Pause after a cycle that another one follows."),
    _ms("wait-after-send", 0, "Pause after each record."),
    _count("first-number", 0, "The running number, and key, of the first record."),
    Knob(
        name="acks",
        default="all",
        unit="WHO",
        choices=("0", "1", "all", "-1"),
        help="Who must have a record before it counts as sent: nobody (0), the leader (1), all "
        "in-sync replicas (all).",
    ),
    _count("max-inflight", 5, "Requests without an answer on one connection, at most.", least=1),
    _switch(
        "idempotent",
        None,
        "Let the broker drop what is sent again. On where it can be: with acks=all and "
        "max-inflight of 5 or less.",
    ),
    Knob(
        name="batch",
        default="16384",
        unit="BYTES",
        whole=(1, INT_MAX),
        help="Largest size of a batch.",
    ),
    _ms("linger", 0, "How long a batch waits for more records."),
    _count("retries", INT_MAX, "How often to send again."),
    _ms("delivery-timeout", 120_000, "When to give a record up.", least=1),
    _ms("request-timeout", 30_000, "How long to wait for an answer.", least=10),
    _ms("retry-backoff", 100, "How long to wait before sending again, the first time.", least=1),
    _ms("retry-max", 1000, "How long to wait before sending again, at most.", least=1),
)

CONSUMER = (
    *_shared("consumer"),
    _ms("poll-period", 1000, "How long one poll waits for records, at most."),
    _ms("wait-after-recv", 0, "Pause after a batch arrives, before it is processed."),
    _ms("wait-after-batch", 0, "Pause after a batch is processed, and committed if it is."),
    _ms("wait-after-record", 0, "Pause after each record."),
    Knob(
        name="ack-every-x-msgs",
        unit="NUMBER",
        whole=(1, INT_MAX),
        help="Commit by hand after so many processed records: the position of the poll, which is "
        "behind its last record, not that of the record. Turns auto-commit off.",
    ),
    _switch(
        "ack-after-batch",
        False,
        "Commit by hand after each batch. Turns auto-commit off, wins over ack-every-x-msgs.",
    ),
    _ms("wait-cmd-period", 5000, 'How long the message "wait" blocks.'),
    _ms(
        "idle-exit",
        0,
        "End, as after the message quit, after so long in the group without a record; 0: never.",
    ),
    Knob(name="group-id", default="test-app", unit="NAME", help="The consumer group."),
    Knob(name="instance-id", unit="NAME", help="Be a static member of the group by this name."),
    _switch(
        "auto-commit",
        True,
        "Commit what earlier polls gave every ac-interval, on revocation and when leaving.",
    ),
    _ms("ac-interval", 5000, "How often auto-commit commits.", least=1),
    _count("fetch-min-bytes", 1, "Bytes that a broker waits for before it answers.", least=1),
    _count("max-poll-recs", 500, "Records that one poll gives, at most.", least=1, most=POLL_MAX),
    Knob(
        name="assignment-strategy",
        default="coop",
        unit="NAME",
        choices=("coop", "range", "rr", "sticky"),
        help="How partitions are shared: cooperative, range, round robin, sticky. The client "
        "library has no eager sticky assignor: sticky is coop here.",
    ),
    _ms("heartbeat-interval", 3000, "How often to tell the coordinator of being alive.", least=1),
    _ms("session-timeout", 45_000, "When the coordinator takes a silent member for dead.", least=1),
    Knob(
        name="auto-offset-reset",
        default="latest",
        unit="WHERE",
        choices=("earliest", "latest"),
        help="Where to begin in a partition for which the group has no position.",
    ),
)


def read_all(knobs: Sequence[Knob], texts: Mapping[str, str]) -> dict[str, Any]:
    """Values by field name, of every option; `KnobError` for what is no option or no value."""
    known = {knob.name: knob for knob in knobs}
    for name in texts:
        if name not in known:
            raise KnobError(f"{name}: there is no such option")
    found: dict[str, Any] = {}
    for knob in knobs:
        text = texts.get(knob.name, knob.default)
        found[knob.field] = None if text is None else knob.read(text)
    return found


def of_side(side: str, properties: Mapping[str, str]) -> dict[str, str]:
    """Lines such as `producer.acks=0` of a file that may have those of both programs."""
    start = f"{side}."
    return {
        name.removeprefix(start): value
        for name, value in properties.items()
        if name.startswith(start)
    }
