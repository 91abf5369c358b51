"""One question to a collector over HTTP: how values are written, and what its refusals mean."""

from __future__ import annotations

import http.client
import json
import os
import re
from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import SplitResult, urlencode, urlsplit

from retrospan.queries.credentials import Credentials
from retrospan.schemas.broken_off import failure_at_end
from retrospan.schemas.errors import CollectorUnreachable, ConfigError, SqlError
from retrospan.schemas.literals import Value, parameter_text

DEFAULT_URL = "http://127.0.0.1:8123"
VARIABLE = "RETROSPAN_URL"


class Client:
    """Asks one collector over HTTP: a connection per question."""

    def __init__(self, url: SplitResult, source: str, timeout: float, credentials: Credentials) -> None:
        self._url = url
        self._source = source
        self._timeout = timeout
        self._headers = credentials.headers()
        self._context = credentials.context() if url.scheme == "https" else None

    def ask(self, query: str, parameters: Mapping[str, Value], strings: bool) -> bytes:
        """Return an Arrow stream, with ClickHouse strings as text or as bytes."""
        form = {"default_format": "ArrowStream", "output_format_arrow_string_as_string": str(int(strings))}
        return self._answer(query, parameters, form)

    def rows(self, query: str, parameters: Mapping[str, Value]) -> list[dict[str, Any]]:
        """Return the rows as dictionaries: no library of frames is needed to read them."""
        body = self._answer(query, parameters, {"default_format": "JSONEachRow"})
        # The only end of a line is \n: text may hold others.
        lines = body.decode(errors="replace").split("\n")
        return [cast("dict[str, Any]", json.loads(line)) for line in lines if line]

    def _answer(self, query: str, parameters: Mapping[str, Value], form: Mapping[str, str]) -> bytes:
        told = {f"param_{name}": parameter_text(value) for name, value in parameters.items()} | dict(form)
        connection = self._connection()
        try:
            target = f"{self._url.path or '/'}?{urlencode(told)}"
            connection.request("POST", target, query.encode(), self._headers)
            response = connection.getresponse()
            body = _body(response)
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise CollectorUnreachable(
                f"cannot reach the collector at {self._url.geturl()} ({reason}; from {self._source}). "
                "Start one: retrospan serve"
            ) from error
        finally:
            connection.close()
        if response.status != 200:
            raise _refused(response.status, body.decode(errors="replace"))
        return body

    def _connection(self) -> http.client.HTTPConnection:
        host, port = self._url.hostname or "", self._url.port
        if self._context is None:
            return http.client.HTTPConnection(host, port, timeout=self._timeout)
        return http.client.HTTPSConnection(host, port, timeout=self._timeout, context=self._context)


def client_of(url: str | None, timeout: float, token: str | None) -> Client:
    """Return a client of the collector that is named, by the URL, the variable, or as this machine's.

    Raises:
        ConfigError: the URL or the token cannot be one, a file of certificates cannot be used.
    """
    source = "url" if url is not None else VARIABLE if os.environ.get(VARIABLE) else "default"
    text = url if url is not None else os.environ.get(VARIABLE) or DEFAULT_URL
    parts = parts_of(text)
    if parts is None:
        raise ConfigError(f"{text!r} (from {source}) is not a URL such as {DEFAULT_URL}.")
    return Client(parts, source, timeout, Credentials.read(os.environ, token))


def parts_of(text: str) -> SplitResult | None:
    """Return the parts of a collector's address; None when it is not one."""
    try:
        parts = urlsplit(text if "//" in text else f"http://{text}")
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    return parts if usable else None


def _body(response: http.client.HTTPResponse) -> bytes:
    """Return the answer. Raises SqlError with what the statement says that failed once its answer had begun."""
    try:
        return response.read()
    except http.client.IncompleteRead as broken:
        failed = failure_at_end(broken.partial, response.getheader("X-ClickHouse-Exception-Tag"))
        if failed is None:
            raise
        raise _refused(response.status, failed[1]) from broken


def _refused(status: int, message: str) -> SqlError:
    code = re.match(r"Code: (\d+)\. (?:DB::Exception: )?", message)
    if code is None:
        return SqlError(f"HTTP {status}: {message.strip()[:500]}")
    return SqlError(message[code.end() :].strip(), code=int(code[1]))
