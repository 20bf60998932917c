"""Group members of the Java client and of kafkajs, each a process that can be killed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from group_crowd import PYTHON_LIBRARIES, Command
from harness.clients import NODE, install_node_packages
from harness.maven import classpath, compiled, need
from harness.paths import CONFORMANCE

SMALL = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")


def java_member() -> Sequence[str]:
    logging = CONFORMANCE / "java" / "log4j2.properties"
    classes = compiled(CONFORMANCE / "java" / "src")
    options = [*SMALL, f"-Dlog4j2.configurationFile={logging}"]
    return [need("java"), *options, "-cp", f"{classes}:{classpath()}", "GroupMember"]


def kafkajs_member() -> Sequence[str]:
    install_node_packages()
    return [need("node"), str(NODE / "member.js")]


ALL_LIBRARIES: Mapping[str, Command] = {
    **PYTHON_LIBRARIES,
    "java": java_member,
    "kafkajs": kafkajs_member,
}
