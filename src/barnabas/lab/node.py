"""A node of a lab's cluster: the server, on a machine whose disk the lab may break.

    python -m barnabas.lab.node server.properties --steering 5

Everything else is as `barnabas server-start` does it: the node is the same one.
"""

from __future__ import annotations

import argparse
import socket
import sys
import threading


def main(arguments: list[str]) -> int:
    """Serve until a signal ends it; the exit status."""
    if not __debug__:
        raise SystemExit("error: a node does not run under python -O: its checks must stay on")
    parser = argparse.ArgumentParser(prog="python -m barnabas.lab.node", description=__doc__)
    parser.add_argument("file", help="properties file of the node")
    parser.add_argument("--steering", type=int, help="descriptor of the socket to the lab")
    parser.add_argument("--disk", default="{}", help="what the disk is like at first")
    args = parser.parse_args(arguments)

    from barnabas.base.properties import load_properties
    from barnabas.base.settings import BrokerConfig, ConfigError
    from barnabas.broker.run import run
    from barnabas.lab.faults.disk import SteeredMachine, SteeredSyscalls
    from barnabas.lab.faults.disk_state import DiskState

    try:
        config = BrokerConfig.from_properties(dict(load_properties(args.file)), file=args.file)
    except ConfigError as error:
        raise SystemExit(f"error: {error.message}") from None
    if args.steering is None:
        return run(config)
    calls = SteeredSyscalls(DiskState.of(args.disk), socket.socket(fileno=args.steering))
    threading.Thread(target=calls.steer, daemon=True).start()
    return run(config, machine=SteeredMachine(calls))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
