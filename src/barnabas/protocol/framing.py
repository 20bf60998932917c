"""Frames and headers: what stands around a message on a connection.

A frame is a 32-bit length and as many bytes: a header, then the message.
"""

from collections.abc import Iterator
from struct import Struct
from struct import error as struct_error

from barnabas.protocol.apis import APIS, Api
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.message import Message, Part
from barnabas.protocol.types import Buffer
from barnabas.protocol.varint import skip_tags

MAX_FRAME = 100 * 1024 * 1024

_LENGTH = Struct(">i")
_REQUEST_WITH_CLIENT = Struct(">hhih")
_FRAMED_V0 = Struct(">ii")
_FRAMED_V1 = Struct(">iiB")


class FrameReader:
    """Cuts a stream of bytes, fed in pieces of any size, into frames.

    Keeps the bytes of the unfinished frame, nothing else.  One connection, one reader; after a
    DecodeError it is of no further use.
    """

    __slots__ = ("_pending", "max_frame")

    def __init__(self, max_frame: int = MAX_FRAME) -> None:
        self.max_frame = max_frame
        self._pending = bytearray()

    @property
    def pending_bytes(self) -> int:
        """How many bytes of an unfinished frame, its length included, are held."""
        return len(self._pending)

    def feed(self, data: Buffer) -> Iterator[bytes]:
        """The frames that are complete now, without their lengths.

        Take them all before feeding again.  DecodeError as soon as a frame announces a length that
        is negative or above `max_frame`; frames before it have been handed out.
        """
        pending = self._pending
        pending += data
        pos = 0
        try:
            while (found := next_frame(pending, pos, self.max_frame)) is not None:
                start, stop = found
                pos = stop
                yield bytes(pending[start:stop])
        finally:
            del pending[:pos]


def next_frame(buf: Buffer, pos: int, max_frame: int = MAX_FRAME) -> tuple[int, int] | None:
    """Start and stop of the content of the frame at `pos`, or None if it is not complete yet."""
    start = pos + 4
    if start > len(buf):
        return None
    (length,) = _LENGTH.unpack_from(buf, pos)
    if not 0 <= length <= max_frame:
        raise DecodeError(f"a frame of {length} bytes; at most {max_frame} are allowed")
    return (start, start + length) if start + length <= len(buf) else None


def frame(payload: Buffer) -> bytes:
    """The payload with its length in front."""
    return _LENGTH.pack(len(payload)) + payload


def read_request_header(buf: Buffer, pos: int = 0) -> tuple[int, int, int, str | None, int]:
    """`(api_key, api_version, correlation_id, client_id, position of the body)`.

    For an unknown API or version the header is taken to end after the client id, which is where it
    is for every version of the header; the caller decides what to answer.
    """
    try:
        api_key, api_version, correlation_id, length = _REQUEST_WITH_CLIENT.unpack_from(buf, pos)
        pos += _REQUEST_WITH_CLIENT.size
        client_id = None
        if length >= 0:
            stop = pos + length
            if stop > len(buf):
                raise DecodeError(f"client id of {length} bytes goes beyond the request")
            client_id = str(buf[pos:stop], "utf-8")
            pos = stop
        elif length != -1:
            raise DecodeError(f"client id of {length} bytes")
        known = APIS.get(api_key)
        if known is not None and known.flexible_since <= api_version <= known.max_version:
            pos = skip_tags(buf, pos + 1, buf[pos])
    except DecodeError:
        raise
    except (ValueError, IndexError, struct_error) as fault:
        raise DecodeError(f"request header: {fault}") from fault
    return api_key, api_version, correlation_id, client_id, pos


def encode_request_header(
    api: Api, version: int, correlation_id: int, client_id: str | None
) -> bytes:
    """The header of a request in this version of its API."""
    client = None if client_id is None else client_id.encode()
    length = -1 if client is None else len(client)
    head = _REQUEST_WITH_CLIENT.pack(api.key, version, correlation_id, length) + (client or b"")
    return head + b"\0" if api.request_header_version(version) == 2 else head


def encode_response_header(api: Api, version: int, correlation_id: int) -> bytes:
    """The header of a response in this version of its API."""
    head = _LENGTH.pack(correlation_id)
    return head + b"\0" if api.response_header_version(version) else head


def read_response_header(buf: Buffer, api: Api, version: int) -> tuple[int, int]:
    """`(correlation_id, position of the body)` of a response in this version of its API."""
    try:
        (correlation_id,) = _LENGTH.unpack_from(buf, 0)
        pos = 4
        if api.response_header_version(version):
            pos = skip_tags(buf, pos + 1, buf[pos])
    except (IndexError, struct_error) as fault:
        raise DecodeError(f"response header: {fault}") from fault
    return correlation_id, pos


def response_frame(
    message: Message, version: int, correlation_id: int, header_version: int
) -> list[Part]:
    """A whole response, length and header included, as parts to be sent one after the other."""
    prefix = (
        _FRAMED_V1.pack(0, correlation_id, 0)
        if header_version
        else _FRAMED_V0.pack(0, correlation_id)
    )
    parts = message.parts(version, prefix)
    first = parts[0]
    assert isinstance(first, bytearray)
    _LENGTH.pack_into(first, 0, sum(map(len, parts)) - 4)
    return parts


def request_frame(
    message: Message, api: Api, version: int, correlation_id: int, client_id: str | None
) -> bytes:
    """A whole request, length and header included."""
    header = encode_request_header(api, version, correlation_id, client_id)
    return frame(header + message.encode(version))
