"""A listener that is bound: where it listens, and what clients are told to connect to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundListener:
    """One entry of `listeners`, after binding (so a configured port 0 is a real port here)."""

    name: str
    security_protocol: str
    host: str
    port: int
    advertised_host: str
    advertised_port: int
    is_controllers: bool = False
    """Brokers reach the controller of this node here; clients do not come."""

    @property
    def uses_sendfile(self) -> bool:
        """Files go to the socket without passing through this process."""
        return self.security_protocol in {"PLAINTEXT", "SASL_PLAINTEXT"}

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.name}://{host}:{self.port}"
