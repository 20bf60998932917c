"""JSON files that tools are told what to do by: read, and checked field by field.

Whatever is wrong with a file is a `UsageError` of one line that names the option, the file and the
place in it (`partitions[2].replicas`), before any broker is asked.  Fields that nobody asks for are
left alone, as Apache Kafka's tools do.
"""

from __future__ import annotations

from dataclasses import dataclass

from barnabas.cli.options import INT_MAX, UsageError

VERSION = 1
"""Of every kind of file that the tools know; one without a version is meant to be of this one."""
SHOWN_CHARACTERS = 40


@dataclass(frozen=True, slots=True)
class Json:
    """A value in a file, which knows where it stands."""

    source: str
    """The option and the file."""
    where: str
    value: object

    def wrong(self, what: str) -> UsageError:
        place = f"{self.where}: " if self.where else ""
        return UsageError(f"{self.source}: {place}{what}")

    def field(self, name: str) -> Json:
        found = self.optional(name)
        if found is None:
            raise self.wrong(f'the field "{name}" is missing')
        return found

    def optional(self, name: str) -> Json | None:
        """A field that may be left out; null is as good as none."""
        if not isinstance(self.value, dict):
            raise self._expected("an object")
        value = self.value.get(name)
        where = f"{self.where}.{name}" if self.where else name
        return None if value is None else Json(self.source, where, value)

    def listed(self, name: str) -> list[Json]:
        """What a field lists that may be left out."""
        found = self.optional(name)
        return [] if found is None else found.items()

    def items(self) -> list[Json]:
        if not isinstance(self.value, list):
            raise self._expected("a list")
        return [
            Json(self.source, f"{self.where}[{number}]", value)
            for number, value in enumerate(self.value)
        ]

    def text(self) -> str:
        if not isinstance(self.value, str):
            raise self._expected("text")
        return self.value

    def whole(self, most: int = INT_MAX, *, least: int = 0) -> int:
        if not isinstance(self.value, int) or isinstance(self.value, bool):
            raise self._expected("a whole number")
        if not least <= self.value <= most:
            bound = f"at least {least}" if self.value < least else f"at most {most}"
            raise self.wrong(f"{self.value} is out of range: {bound}")
        return self.value

    def place(self) -> tuple[str, int]:
        """The partition that an object names."""
        return self.field("topic").text(), self.field("partition").whole()

    def _expected(self, what: str) -> UsageError:
        import json

        found = json.dumps(self.value, ensure_ascii=False)
        if len(found) > SHOWN_CHARACTERS:
            found = f"{found[: SHOWN_CHARACTERS - 3]}..."
        return self.wrong(f"{what} is expected, not {found}")


def read_json(option: str, path: str) -> Json:
    """What a file says; `UsageError` if it cannot be read, or is not of the version known here."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            text = file.read()
    except OSError as error:
        raise UsageError(f"--{option}: cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"--{option}: {path}: not a text in UTF-8") from None
    return parse_json(text, f"--{option}: {path}")


def parse_json(text: str, source: str) -> Json:
    import json

    try:
        document = Json(source, "", json.loads(text))
    except json.JSONDecodeError as error:
        what = f"not valid JSON: {error.msg} (line {error.lineno}, column {error.colno})"
        raise UsageError(f"{source}: {what}") from None
    except RecursionError:
        raise UsageError(f"{source}: not valid JSON: nested too deeply") from None
    version = document.optional("version")
    if version is not None and version.whole(least=-INT_MAX) != VERSION:
        raise document.wrong(f"Not supported version field value {version.value}")
    return document
