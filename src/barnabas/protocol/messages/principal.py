"""A principal, as an envelope carries it."""

from barnabas.protocol.message import Message
from barnabas.protocol.types import Bool, String


class DefaultPrincipalData(Message, versions="0", flexible="0+"):
    """Who sent an enveloped request (KIP-590)."""

    type: String = ""
    name: String = ""
    token_authenticated: Bool = False
