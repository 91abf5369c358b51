"""The first answer to a client that speaks Native over HTTP, such as Grafana's data source.

Such a client decodes its first answer by its own protocol revision, whatever the server's, and all later ones
by the revision this answer names. The embedded engine writes revision 0, so this one answer is made here.
"""

from __future__ import annotations

#: Each block starts with this since revision 51903: is_overflows = 0, bucket_num = -1.
_BLOCK_INFO = b"\x01\x00\x02\xff\xff\xff\xff\x00"
_HELLO = "select displayname(), version(), revision(), timezone()"


def is_hello(sql: str) -> bool:
    """Return whether this is the question by which the client learns what it talks to."""
    return " ".join(sql.split()).casefold() == _HELLO


def hello(version: str, name: str) -> bytes:
    """One row (name, version, revision 0, UTC) in the layout of the client's revision."""
    strings = [_string(value) for value in (name, version, "UTC")]
    columns = [
        ("displayName()", "String", strings[0]),
        ("version()", "String", strings[1]),
        ("revision()", "UInt32", bytes(4)),
        ("timezone()", "String", strings[2]),
    ]
    head = _BLOCK_INFO + bytes([len(columns), 1])
    # The 0 after the type: this column has no custom serialization.
    return head + b"".join(_string(column) + _string(kind) + b"\0" + data for column, kind, data in columns)


def _string(value: str) -> bytes:
    data = value.encode()[:127]
    return bytes([len(data)]) + data
