"""Fetch and compile what the conformance tests use, with a word on each; quick when it is there."""

from __future__ import annotations

import sys

from harness.clients import install_node_packages
from harness.maven import (
    MissingToolError,
    classpath,
    compiled,
    kafka_version,
    spark_connector,
)
from harness.paths import CONFORMANCE


def main() -> int:
    try:
        print(f"Apache Kafka {kafka_version()} (Maven) ...", flush=True)
        classpath()
        print("the Java side of the harness (javac) ...", flush=True)
        compiled(CONFORMANCE / "java" / "src")
        print("Spark's own Kafka connector (Maven) ...", flush=True)
        spark_connector()
        print("kafkajs (npm) ...", flush=True)
        install_node_packages()
    except (MissingToolError, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
