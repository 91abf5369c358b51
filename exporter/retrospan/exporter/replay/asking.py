"""Really asks a model, not through the agent's client, so that the answer can be recorded whichever client that is."""

from __future__ import annotations

import json
import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from http import client
from urllib.parse import urlsplit

from retrospan.exporter.replay.current import ASKING
from retrospan.exporter.replay.exchange import Exchange, TransportFailed
from retrospan.exporter.replay.wire.form import Asked, Form

#: Models take minutes.
_SECONDS = 600.0
#: Of the connection, not of the request; and a body that is compressed would have to be unpacked.
_LEFT_OUT = frozenset(
    {"accept-encoding", "connection", "content-length", "expect", "host", "proxy-authorization", "te", "transfer-encoding"}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Said:
    """What came back, whole."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def whole(form: Form, asked: Exchange, request: Asked) -> Exchange:
    """Return a request for a whole answer: one that comes in pieces is cut to pieces again here.

    Bedrock is asked as the agent asks: AWS signs the address; its streams are put together by `wire.event_stream`.
    """
    if not request.streamed or form.name == "bedrock converse":
        return asked
    if form.name == "gemini":
        parts = urlsplit(asked.url)
        path = parts.path.replace(":streamGenerateContent", ":generateContent")
        query = "&".join(each for each in parts.query.split("&") if each and each != "alt=sse")
        return Exchange(
            asked.method, parts._replace(path=path, query=query).geturl(), asked.headers, asked.body
        )
    body = json.loads(asked.body)
    body = {key: value for key, value in body.items() if key not in ("stream", "stream_options")}
    return Exchange(asked.method, asked.url, asked.headers, json.dumps(body, ensure_ascii=False).encode())


def ask(asked: Exchange) -> Said:
    """Send a request and wait for the answer. Raises TransportFailed if none comes."""
    parts = urlsplit(asked.url)
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    headers = {name: value for name, value in asked.headers.items() if name not in _LEFT_OUT}
    connection = _connection(parts.scheme, parts.hostname or "", parts.port)
    token = ASKING.set(True)
    try:
        connection.request(asked.method, target, asked.body, {**headers, "accept-encoding": "identity"})
        response = connection.getresponse()
        body = response.read()
        return Said(response.status, {name.lower(): value for name, value in response.getheaders()}, body)
    except TimeoutError as error:
        raise TransportFailed("timeout", f"{parts.hostname} gave no answer in {_SECONDS:.0f} s") from error
    except (OSError, client.HTTPException) as error:
        raise TransportFailed("connection", f"{parts.hostname} cannot be asked: {error}") from error
    finally:
        connection.close()
        ASKING.reset(token)


def _connection(scheme: str, host: str, port: int | None) -> client.HTTPConnection:
    if scheme != "https":
        return client.HTTPConnection(host, port, timeout=_SECONDS)
    authorities = os.environ.get("SSL_CERT_FILE") or os.environ.get("REQUESTS_CA_BUNDLE")
    return client.HTTPSConnection(
        host, port, timeout=_SECONDS, context=ssl.create_default_context(cafile=authorities or None)
    )
