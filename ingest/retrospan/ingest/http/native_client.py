"""What a client of ClickHouse's native protocol hears at a port that speaks HTTP: an error that it can show.

Its first byte is 0, the number of its hello, with which no request of HTTP and nothing of TLS begins.
"""

from __future__ import annotations

HELLO = b"\x00"
_EXCEPTION = b"\x02"
#: ClickHouse's number for a packet that was not expected.
_UNEXPECTED_PACKET = 101
_SAID = (
    "DB::Exception: this port speaks HTTP, and not ClickHouse's native protocol. "
    "Connect over HTTP, with clickhouse-connect for example, or with protocol=http where a client speaks both"
)


def refusal() -> bytes:
    """Return the packet that ends a conversation in that protocol: code, name, message, stack, and nothing nested."""
    code = _UNEXPECTED_PACKET.to_bytes(4, "little")
    return _EXCEPTION + code + _text("DB::Exception") + _text(_SAID) + _text("") + b"\x00"


def _text(value: str) -> bytes:
    encoded = value.encode()
    size, length = len(encoded), b""
    while size > 127:
        length += bytes([size & 127 | 128])
        size >>= 7
    return length + bytes([size]) + encoded
