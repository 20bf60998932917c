"""`kafka-features`: which features a cluster uses, at which levels, and changing those."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from barnabas.cli.command import Command, CommandError
from barnabas.cli.common import (
    BOOTSTRAP,
    BOOTSTRAP_CONTROLLER,
    COMMAND_CONFIG,
    JSON,
    client_properties,
    warn,
)
from barnabas.cli.features_table import (
    LATEST,
    METADATA_VERSION,
    dependencies,
    level_text,
    metadata_level,
    of_release,
)
from barnabas.cli.options import (
    Option,
    Parsed,
    UsageError,
    check_belonging,
    command_of,
)
from barnabas.cli.printing import print_lines, show

if TYPE_CHECKING:
    from barnabas.client.cluster_admin import ClusterAdmin, NodeVersions
    from barnabas.client.errors import RefusedError

COMMANDS = (
    "describe",
    "upgrade",
    "downgrade",
    "disable",
    "version-mapping",
    "feature-dependencies",
)
CHANGES = {"upgrade", "downgrade", "disable"}
BELONGS_TO = {
    "json": {"describe", "version-mapping"},
    "feature": {*CHANGES, "feature-dependencies"},
    "release-version": {"upgrade", "downgrade", "version-mapping"},
    "metadata": {"upgrade", "downgrade"},
    "unsafe": {"downgrade", "disable"},
    "dry-run": CHANGES,
}
UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3
LEVEL_MAX = 32767

OPTIONS = (
    BOOTSTRAP,
    BOOTSTRAP_CONTROLLER,
    COMMAND_CONFIG,
    JSON,
    Option(
        name="feature",
        value="FEATURE=LEVEL",
        many=True,
        help="A feature and the level that it is to have; with disable, its name alone. May be "
        "repeated.",
    ),
    Option(
        name="release-version",
        value="VERSION",
        help="All features as a release has them, such as 4.0 or 3.7-IV4.",
    ),
    Option(
        name="metadata",
        value="VERSION",
        help="Older spelling of --feature metadata.version=LEVEL, with the name of the level.",
    ),
    Option(name="unsafe", help="With downgrade and disable: even if metadata may be lost."),
    Option(name="dry-run", help="Say whether it could be done, and do nothing."),
)


def run(args: Parsed) -> int:
    command = check(args)
    if command == "version-mapping":
        version = args.text("release-version") or LATEST
        level = metadata_level(version)
        show(
            args,
            lines=lambda: mapping_lines(version, level),
            document=lambda: {METADATA_VERSION: level, **of_release(level)},
        )
        return 0
    if command == "feature-dependencies":
        print_lines(dependency_lines(levels_asked(command, args)))
        return 0
    levels = levels_asked(command, args) if command in CHANGES else {}
    properties = client_properties(args, files=["command-config"], pairs=[])
    from barnabas.client.cluster_admin import ClusterAdmin

    with ClusterAdmin.connect(properties) as admin:
        if command == "describe":
            found = admin.versions()
            show(args, lines=lambda: describe_lines(found), document=lambda: describe_json(found))
            return 0
        return _update(admin, command, levels, args)


def check(args: Parsed) -> str:
    """The command asked for; `UsageError` for options that do not go together."""
    command = command_of(args, COMMANDS)
    check_belonging(args, BELONGS_TO, command, said=command)
    if command == "feature-dependencies" and not args.has("feature"):
        raise UsageError("--feature is missing: FEATURE=LEVEL")
    if args.has("release-version") and (args.has("feature") or args.has("metadata")):
        raise UsageError("--release-version cannot be used with --feature or --metadata")
    return command


def levels_asked(command: str, args: Parsed) -> dict[str, int]:
    """The features meant and their new levels."""
    levels: dict[str, int] = {}
    release, metadata = args.text("release-version"), args.text("metadata")
    if release is not None:
        level = metadata_level(release)
        others = of_release(level)
        if command == "upgrade":  # a level of 0 is no upgrade
            others = {name: each for name, each in others.items() if each > 0}
        levels = {METADATA_VERSION: level, **others}
    if metadata is not None:
        levels[METADATA_VERSION] = metadata_level(metadata)
    for text in args.texts("feature"):
        name, level = (text, 0) if command == "disable" else name_and_level(text)
        if name in levels:
            raise UsageError(f"Feature {name} was specified more than once.")
        levels[name] = level
    if not levels:
        raise UsageError(f"You must specify at least one feature to {command}")
    return levels


def name_and_level(text: str) -> tuple[str, int]:
    name, equals, level = (part.strip() for part in text.partition("="))
    if not equals:
        raise UsageError(f"Can't parse feature=level string {text}: equals sign not found.")
    if not (level.isascii() and level.isdigit() and int(level) <= LEVEL_MAX):
        raise UsageError(
            f"Can't parse feature=level string {text}: unable to parse {level} as a short."
        )
    return name, int(level)


def describe_lines(found: NodeVersions) -> list[str]:
    epoch = "-" if found.epoch is None else found.epoch
    return [
        f"Feature: {each.name:<42}"
        f"SupportedMinVersion: {level_text(each.name, each.lowest):<17}"
        f"SupportedMaxVersion: {level_text(each.name, each.highest):<17}"
        f"FinalizedVersionLevel: {level_text(each.name, each.finalized):<17}"
        f"Epoch: {epoch}"
        for each in found.features
    ]


def describe_json(found: NodeVersions) -> list[dict[str, Any]]:
    return [
        {
            "feature": each.name,
            "supported_min_version": each.lowest,
            "supported_max_version": each.highest,
            "finalized_version_level": each.finalized,
            "epoch": found.epoch,
        }
        for each in found.features
    ]


def mapping_lines(version: str, level: int) -> list[str]:
    others = of_release(level)
    return [
        f"{METADATA_VERSION}={level} ({version})",
        *(f"{name}={each}" for name, each in others.items()),
    ]


def dependency_lines(levels: Mapping[str, int]) -> list[str]:
    lines = []
    for name, level in levels.items():
        needed = dependencies(name, level)
        shown = _with_name(name, level)
        if not needed:
            lines.append(f"{shown} has no dependencies.")
            continue
        lines.append(f"{shown} requires:")
        lines += [f"    {_with_name(other, least)}" for other, least in needed.items()]
    return lines


def _with_name(feature: str, level: int) -> str:
    name = f" ({level_text(feature, level)})" if feature == METADATA_VERSION else ""
    return f"{feature}={level}{name}"


def _update(admin: ClusterAdmin, command: str, levels: Mapping[str, int], args: Parsed) -> int:
    if args.has("metadata"):
        warn("--metadata is deprecated: use --release-version or --feature")
    kind = UPGRADE
    if command != "upgrade":
        kind = UNSAFE_DOWNGRADE if args.has("unsafe") else SAFE_DOWNGRADE
    dry_run = args.has("dry-run")
    if args.has("release-version"):
        levels = _known_only(admin, levels)
    results = admin.update_features(levels, upgrade_type=kind, dry_run=dry_run)
    print_lines(update_lines(command, levels, results, dry_run=dry_run))
    failed = sum(error is not None for error in results.values())
    if failed:
        sys.stdout.flush()  # what became of each stands before what became of all
        raise CommandError(f"{failed} out of {len(levels)} operation(s) failed.")
    return 0


def _known_only(admin: ClusterAdmin, levels: Mapping[str, int]) -> dict[str, int]:
    """A release may have features that a cluster knows nothing of: nobody asked for these."""
    known = {each.name for each in admin.versions().features}
    for name in sorted(levels.keys() - known):
        warn(f"{name} is not known to this cluster and is left out")
    return {name: level for name, level in levels.items() if name in known}


def update_lines(
    command: str,
    levels: Mapping[str, int],
    results: Mapping[str, RefusedError | None],
    *,
    dry_run: bool,
) -> list[str]:
    lines = []
    for name in sorted(levels):
        error = results.get(name)
        if error is None:
            done = "disabled" if command == "disable" else f"{command}d to {levels[name]}"
            lines.append(f"{name} {'can be' if dry_run else 'was'} {done}.")
        else:
            to_level = "" if command == "disable" else f" to {levels[name]}"
            could = "Can not" if dry_run else "Could not"
            lines.append(f"{could} {command} {name}{to_level}. {error}")
    return lines


COMMAND = Command(
    summary="Show and change the levels of features that the cluster has agreed on.",
    examples=(
        "describe",
        "upgrade --release-version 4.0",
        "upgrade --feature transaction.version=2 --dry-run",
        "downgrade --feature transaction.version=1",
        "disable --feature eligible.leader.replicas.version",
        "version-mapping --release-version 3.9",
        "feature-dependencies --feature eligible.leader.replicas.version=1",
    ),
    options=OPTIONS,
    run=run,
    words=(0, 1),
    word_values=COMMANDS,
    notes=(
        f"Commands: {', '.join(COMMANDS)}.",
        "version-mapping and feature-dependencies tell of Kafka's releases and ask no broker.",
    ),
)
