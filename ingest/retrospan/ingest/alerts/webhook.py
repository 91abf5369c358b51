"""Posts a signed alert to an address. Only the status of the answer is read; a redirect is not followed.

    Retrospan-Timestamp: 1764090000
    Retrospan-Signature: v1=HEX      HMAC-SHA256 over `TIMESTAMP.BODY`, with the bytes of the file of the secret

By hand, on one socket: no proxy, no cookie, no second request, and a deadline over all of it.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import socket
import ssl
import time
from pathlib import Path
from urllib.parse import urlsplit

from retrospan.ingest.alerts.attempt import Attempt, Deadline, Message
from retrospan.ingest.alerts.public_address import ForbiddenAddress, address_of
from retrospan.ingest.alerts.rule_values import fault_of_url
from retrospan.ingest.alerts.rules import Webhook
from retrospan.ingest.settings.trusted_file import require_trusted
from retrospan.schemas.errors import ConfigError

LEAST_SECRET_BYTES = 16
_MOST_SECRET_BYTES = 4096
#: Headers of an answer; beyond that it is not an answer.
_HEAD_BYTES = 16 * 1024
_STATUS = re.compile(rb"HTTP/1\.[01] ([1-5][0-9]{2})(?: [^\r\n]*)?\r?\n")
#: Statuses after which the same may go better the next time; of the others only 5xx.
_PASSING = (408, 425, 429)


def post(target: Webhook, message: Message, deadline: Deadline) -> Attempt:
    """Post once."""
    try:
        url, secret = url_of(target), secret_of(target)
        context = _context(target, url)
    except ConfigError as error:
        # A file is put in place again: that is worth another attempt.
        return Attempt("refused", str(error))
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    try:
        address = address_of(host, port, allow_private=target.allow_private, deadline=deadline)
        with socket.create_connection((address, port), deadline.left()) as plain:
            if context is None:
                return _judged(_exchanged(plain, url, message, secret, deadline))
            plain.settimeout(deadline.left())
            with context.wrap_socket(plain, server_hostname=host) as secured:
                return _judged(_exchanged(secured, url, message, secret, deadline))
    except ForbiddenAddress as error:
        return Attempt("given_up", str(error))
    except ssl.SSLCertVerificationError as error:
        return Attempt("refused", f"the certificate of {host} is not accepted: {error.verify_message}")
    except TimeoutError as error:
        return Attempt("refused", str(error) if "in time" in str(error) else "no answer in time")
    except OSError as error:
        return Attempt("refused", f"{host}:{port}: {error.strerror or error}"[:300])


def url_of(target: Webhook) -> str:
    """Return the address, read anew if a file has it. Raises ConfigError."""
    if target.url_file is None:
        return target.url
    url = _read(target.url_file, "the address in").decode("ascii", "replace")
    if reason := fault_of_url(url, target.allow_private):
        raise ConfigError(f"{target.url_file}: {reason}.")
    return url


def secret_of(target: Webhook) -> bytes:
    """Return the secret, read anew: it may have been changed. Raises ConfigError."""
    secret = _read(target.secret_file, "the secret in")
    if len(secret) < LEAST_SECRET_BYTES:
        raise ConfigError(f"{target.secret_file}: a secret has {LEAST_SECRET_BYTES} bytes at least.")
    return secret


def signature(secret: bytes, timestamp: str, body: bytes) -> str:
    """Return the value of the header."""
    return "v1=" + hmac.new(secret, timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def _read(file: Path, what: str) -> bytes:
    require_trusted(file, what)
    try:
        with file.open("rb") as opened:
            data = opened.read(_MOST_SECRET_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"cannot read {what} {file}: {error.strerror}.") from error
    if len(data) > _MOST_SECRET_BYTES:
        raise ConfigError(f"{file} has more than {_MOST_SECRET_BYTES:,} bytes.")
    return data.strip()


def _context(target: Webhook, url: str) -> ssl.SSLContext | None:
    if not url.startswith("https:"):
        return None
    if target.ca is not None:
        require_trusted(target.ca)
    try:
        return ssl.create_default_context(cafile=str(target.ca) if target.ca is not None else None)
    except OSError as error:
        raise ConfigError(f"cannot read the authorities in {target.ca}: {error}.") from error


def _exchanged(
    connection: socket.socket, url: str, message: Message, secret: bytes, deadline: Deadline
) -> int:
    """Send the request; return the status of the answer, 0 for what is none."""
    parts = urlsplit(url)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    timestamp = str(int(time.time()))
    head = {
        "Host": parts.netloc,
        "User-Agent": "retrospan",
        "Content-Type": "application/json",
        "Content-Length": str(len(message.body)),
        "Connection": "close",
        "Retrospan-Alert-Id": message.alert_id,
        "Retrospan-Attempt": str(message.attempt),
        "Retrospan-Timestamp": timestamp,
        "Retrospan-Signature": signature(secret, timestamp, message.body),
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
    connection.settimeout(deadline.left())
    connection.sendall(f"POST {path} HTTP/1.1\r\n{lines}\r\n".encode("ascii") + message.body)
    return _status(connection, deadline)


def _status(connection: socket.socket, deadline: Deadline) -> int:
    kept = bytearray()
    while len(kept) < _HEAD_BYTES:
        connection.settimeout(deadline.left())
        piece = connection.recv(_HEAD_BYTES - len(kept))
        kept += piece
        while found := _STATUS.match(kept):
            status = int(found[1])
            if status >= 200:
                return status
            ended = re.search(rb"\r?\n\r?\n", kept)  # "go on", or a hint: the answer itself follows
            if ended is None:
                break
            del kept[: ended.end()]
        if not piece:
            return 0
    return 0


def _judged(status: int) -> Attempt:
    if 200 <= status < 300:
        return Attempt("sent")
    if 300 <= status < 400:
        return Attempt("given_up", f"it answered {status}, a redirect, and none is followed")
    if not status:
        return Attempt("refused", "what it answered is not HTTP/1.1")
    if status in _PASSING or status >= 500:
        return Attempt("refused", f"it answered {status}")
    return Attempt("given_up", f"it answered {status}")
