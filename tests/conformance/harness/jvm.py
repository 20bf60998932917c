"""The warm JVM: Kafka's tools and Kafka's Java client, one call at a time over a pipe."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harness.lines import LineProcess
from harness.maven import classpath, compiled, need
from harness.paths import CONFORMANCE


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRun:
    """What a tool left behind. `log` has what its logging wrote, `err` the rest of stderr."""

    status: int
    out: str
    err: str
    log: str


def program(main: str, *, megabytes: int = 256) -> list[str]:
    """The command that runs one of the classes in `java/src`, in a JVM that starts quickly."""
    logging = CONFORMANCE / "java" / "log4j2.properties"
    options = [f"-Xmx{megabytes}m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto"]
    classes = compiled(CONFORMANCE / "java" / "src")
    command = [need("java"), *options, f"-Dlog4j2.configurationFile={logging}"]
    return [*command, "-cp", f"{classes}:{classpath()}", main]


class Jvm(LineProcess):
    """Not safe for threads; each test worker has its own."""

    def __init__(self, log_path: Path) -> None:
        super().__init__(program("Harness", megabytes=768), log_path)

    def tool(self, main: str, *arguments: str, stdin: str = "") -> ToolRun:
        """Run a tool by the name of its class. Its status is data, not an exception."""
        answer = self.call("tool", **{"class": main, "args": list(arguments), "stdin": stdin})
        lines = answer["err"].splitlines(keepends=True)
        return ToolRun(
            status=answer["status"],
            out=answer["out"],
            err="".join(line for line in lines if not line.startswith("LOG ")),
            log="".join(line for line in lines if line.startswith("LOG ")),
        )
