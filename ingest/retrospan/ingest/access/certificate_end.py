"""When a certificate ends, read from the certificate itself: the standard library tells that only of a peer's."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from datetime import UTC, datetime

_UTC_TIME, _TIME, _VERSION = 0x17, 0x18, 0xA0
_FOOTER = "-----END CERTIFICATE-----"


def certificate_end(pem: str) -> datetime | None:
    """Return the last moment of the first certificate in a text; None where it cannot be told."""
    start = pem.find("-----BEGIN CERTIFICATE-----")
    end = pem.find(_FOOTER, start)
    if start < 0 or end < 0:
        return None
    try:
        (_, certificate), *_ = _elements(ssl.PEM_cert_to_DER_cert(pem[start : end + len(_FOOTER)]))
        (_, signed), *_ = _elements(certificate)
        fields = [content for tag, content in _elements(signed) if tag != _VERSION]
        # Serial number, algorithm, issuer, validity.
        _, (tag, text) = _elements(fields[3])
        form = {_UTC_TIME: "%y%m%d%H%M%SZ", _TIME: "%Y%m%d%H%M%SZ"}[tag]
        return datetime.strptime(text.decode("ascii"), form).replace(tzinfo=UTC)
    except (ValueError, LookupError):
        return None


def _elements(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield tag and content of each element of DER. Raises LookupError where it ends too soon."""
    at = 0
    while at < len(data):
        tag, size, at = data[at], data[at + 1], at + 2
        if size & 0x80:
            length = size & 0x7F
            size, at = int.from_bytes(data[at : at + length], "big"), at + length
        if at + size > len(data):
            raise IndexError(at + size)
        yield tag, data[at : at + size]
        at += size
