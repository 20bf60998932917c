"""The states of a transaction as a diagram for the documentation, drawn from the table.

`python -m barnabas.coordinator.txn.diagram` prints it.
"""

from __future__ import annotations

from barnabas.coordinator.txn.machine import TRANSITIONS, TransactionState


def mermaid() -> str:
    """In Mermaid's notation."""
    start = f"    [*] --> {TransactionState.EMPTY.label}: InitProducerId"
    lines = ["stateDiagram-v2", start]
    for before, steps in TRANSITIONS.items():
        lines += [f"    {before.label} --> {after.label}: {why}" for after, why in steps.items()]
        if not steps:
            lines.append(f"    {before.label} --> [*]")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    import sys

    sys.stdout.write(mermaid())
