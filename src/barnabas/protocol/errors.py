"""What can be wrong with bytes that arrive and with messages that are to leave."""


class ProtocolError(ValueError):
    """Bytes and message do not fit each other."""


class DecodeError(ProtocolError):
    """The peer's bytes are not the message they claim to be: close its connection."""


class EncodeError(ProtocolError):
    """A message holds a value that the version cannot carry: a fault of the sender's code."""
