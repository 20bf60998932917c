"""The tools: by which names they are started, and in which modules they are.

A name of several words is a command within a command: `barnabas topics tail`.  Apache's scripts
know nothing of it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

RUN_CLASS = "kafka-run-class"
"""The script that starts a tool by its class: `kafka-run-class.sh kafka.tools.GetOffsetShell`."""


@dataclass(frozen=True, slots=True)
class Tool:
    module: str
    script: str
    """Name of the script that starts it without `barnabas`, if there is one."""
    summary: str
    aliases: tuple[str, ...] = ()
    """Other names of the script that are in people's notes."""
    java_class: str = ""
    """Of Apache Kafka's tool, without the package, which was another one in every other release."""


TOOLS = {
    "start": Tool(
        "barnabas.cli.start",
        "",
        "Start a broker on this machine.",
    ),
    "server-start": Tool(
        "barnabas.cli.server_start",
        "kafka-server-start",
        "Start a broker from a properties file.",
        java_class="Kafka",
    ),
    "storage": Tool(
        "barnabas.cli.storage",
        "kafka-storage",
        "Give the directories of a broker the id of its cluster.",
        java_class="StorageTool",
    ),
    "zookeeper-server-start": Tool(
        "barnabas.cli.zookeeper_server_start",
        "zookeeper-server-start",
        "Start the ZooKeeper that is installed on this machine.",
        java_class="QuorumPeerMain",
    ),
    "topics": Tool(
        "barnabas.cli.topics",
        "kafka-topics",
        "Create, list, describe, change and delete topics.",
        java_class="TopicCommand",
    ),
    "topics tail": Tool(
        "barnabas.cli.topics_tail",
        "",
        "Print the last records of topics, and those that arrive.",
    ),
    "console-producer": Tool(
        "barnabas.cli.console_producer",
        "kafka-console-producer",
        "Send lines of text as records.",
        java_class="ConsoleProducer",
    ),
    "console-consumer": Tool(
        "barnabas.cli.console_consumer",
        "kafka-console-consumer",
        "Print records as they arrive.",
        java_class="ConsoleConsumer",
    ),
    "consumer-groups": Tool(
        "barnabas.cli.consumer_groups",
        "kafka-consumer-groups",
        "List, describe and delete consumer groups, and move their offsets.",
        java_class="ConsumerGroupCommand",
    ),
    "transactions": Tool(
        "barnabas.cli.transactions",
        "kafka-transactions",
        "Look at transactions, and end those that hang.",
        java_class="TransactionsCommand",
    ),
    "configs": Tool(
        "barnabas.cli.configs",
        "kafka-configs",
        "Show and change settings of topics, brokers, groups, users and clients.",
        java_class="ConfigCommand",
    ),
    "server-stop": Tool(
        "barnabas.cli.server_stop",
        "kafka-server-stop",
        "Stop brokers of this machine cleanly.",
    ),
    "reassign-partitions": Tool(
        "barnabas.cli.reassign_partitions",
        "kafka-reassign-partitions",
        "Move replicas of partitions between brokers.",
        java_class="ReassignPartitionsCommand",
    ),
    "leader-election": Tool(
        "barnabas.cli.leader_election",
        "kafka-leader-election",
        "Elect leaders of partitions: the preferred ones, or unclean ones.",
        java_class="LeaderElectionCommand",
    ),
    "preferred-replica-election": Tool(
        "barnabas.cli.preferred_replica_election",
        "kafka-preferred-replica-election",
        "Elect the preferred leaders: the older name of leader-election.",
        java_class="PreferredReplicaLeaderElectionCommand",
    ),
    "get-offsets": Tool(
        "barnabas.cli.get_offsets",
        "kafka-get-offsets",
        "Print first, last and other offsets of partitions.",
        java_class="GetOffsetShell",
    ),
    "delete-records": Tool(
        "barnabas.cli.delete_records",
        "kafka-delete-records",
        "Delete the records of partitions up to an offset.",
        java_class="DeleteRecordsCommand",
    ),
    "log-dirs": Tool(
        "barnabas.cli.log_dirs",
        "kafka-log-dirs",
        "Show what lies in the log directories of brokers.",
        java_class="LogDirsCommand",
    ),
    "dump-log": Tool(
        "barnabas.cli.dump_log",
        "kafka-dump-log",
        "Print the batches and records of log files.",
        java_class="DumpLogSegments",
    ),
    "replica-verification": Tool(
        "barnabas.cli.replica_verification",
        "kafka-replica-verification",
        "Compare the replicas of partitions with each other.",
        ("kafka-replica-validation",),
        java_class="ReplicaVerificationTool",
    ),
    "broker-api-versions": Tool(
        "barnabas.cli.broker_api_versions",
        "kafka-broker-api-versions",
        "Show which requests the brokers answer.",
        java_class="BrokerApiVersionsCommand",
    ),
    "features": Tool(
        "barnabas.cli.features",
        "kafka-features",
        "Show and change the levels of features.",
        java_class="FeatureCommand",
    ),
    "cluster": Tool(
        "barnabas.cli.cluster",
        "kafka-cluster",
        "Show the id and the endpoints of a cluster, or take a broker out of it.",
        java_class="ClusterTool",
    ),
    "metadata-quorum": Tool(
        "barnabas.cli.metadata_quorum",
        "kafka-metadata-quorum",
        "Show who controls the cluster.",
        java_class="MetadataQuorumCommand",
    ),
    "producer-perf-test": Tool(
        "barnabas.cli.producer_perf_test",
        "kafka-producer-perf-test",
        "Measure how fast records are sent.",
        java_class="ProducerPerformance",
    ),
    "consumer-perf-test": Tool(
        "barnabas.cli.consumer_perf_test",
        "kafka-consumer-perf-test",
        "Measure how fast records are received.",
        java_class="ConsumerPerformance",
    ),
    "e2e-latency": Tool(
        "barnabas.cli.e2e_latency",
        "kafka-e2e-latency",
        "Measure the time from sending a record to receiving it.",
        java_class="EndToEndLatency",
    ),
    "groups lag": Tool(
        "barnabas.cli.groups",
        "",
        "Show how far groups are behind, once or live.",
    ),
    "lab": Tool(
        "barnabas.cli.lab",
        "",
        "The break-fix lab: see records get lost and doubled, and how not to.",
    ),
    "lab list": Tool(
        "barnabas.cli.lab_list",
        "",
        "List the scenarios: what breaks, and what keeps it from breaking.",
    ),
    "lab show": Tool(
        "barnabas.cli.lab_show",
        "",
        "Show what a scenario asks, does and predicts.",
    ),
    "lab run": Tool(
        "barnabas.cli.lab_run",
        "",
        "Run scenarios: break a cluster, and judge what became of the records.",
    ),
    "lab producer": Tool(
        "barnabas.cli.lab_producer",
        "",
        "Send numbered quotations, and log each that was delivered.",
    ),
    "lab consumer": Tool(
        "barnabas.cli.lab_consumer",
        "",
        "Process records, commit as told, and log each that is done with.",
    ),
    "lab collect": Tool(
        "barnabas.cli.lab_collect",
        "",
        "Sort the payload logs into producer.log and consumer.log.",
    ),
    "lab diff": Tool(
        "barnabas.cli.lab_diff",
        "",
        "Say what was lost, and what came more than once.",
    ),
    "lab clean": Tool(
        "barnabas.cli.lab_clean",
        "",
        "Remove payload logs, and data directories of brokers.",
    ),
    "pipeline archive": Tool(
        "barnabas.cli.pipeline_archive",
        "",
        "Write topics into a lake of Parquet or JSON files.",
    ),
    "pipeline replay": Tool(
        "barnabas.cli.pipeline_replay",
        "",
        "Write a lake back into topics.",
    ),
    "pipeline transform": Tool(
        "barnabas.cli.pipeline_transform",
        "",
        "Run a query over topics, into a topic.",
    ),
    "pipeline reconcile": Tool(
        "barnabas.cli.pipeline_reconcile",
        "",
        "Compare what was sent with what was received.",
    ),
    "pipeline generate": Tool(
        "barnabas.cli.pipeline_generate",
        "",
        "Send made-up prices or truck positions.",
    ),
    "completion": Tool(
        "barnabas.cli.completion",
        "",
        "Print what makes a shell complete these commands.",
    ),
}


def of_words(words: Sequence[str]) -> tuple[str, Tool] | None:
    """The tool that the first words of `barnabas <words>` name: the longest name that fits."""
    for count in (2, 1):
        name = " ".join(words[:count])
        if len(words) >= count and name in TOOLS:
            return name, TOOLS[name]
    return None


def of_script(path: str) -> tuple[str, Tool] | None:
    """The tool that a script starts, and its name without directory and `.sh`."""
    name = os.path.basename(path).removesuffix(".sh")
    for tool in TOOLS.values():
        if name in (tool.script, *tool.aliases) and name:
            return name, tool
    return None


def of_class(java_class: str) -> Tool | None:
    """The tool of a Java class, whatever package it was in."""
    name = java_class.rpartition(".")[2]
    return next((tool for tool in TOOLS.values() if name and tool.java_class == name), None)


def scripts() -> list[str]:
    """Every name, with and without `.sh`, that starts a tool without `barnabas`."""
    names = [name for tool in TOOLS.values() for name in (tool.script, *tool.aliases) if name]
    return [name + end for name in (*names, RUN_CLASS) for end in ("", ".sh")]
