"""OTLP over HTTP, protobuf. The only module that knows HTTP's codes.

An attempt has one deadline, and an answer so many bytes (exchange.py): whatever the receiver does, delivery continues.
The status line decides the outcome of a request; the rest of the answer only adds details.
"""

from __future__ import annotations

import gzip
import zlib
from http.client import BadStatusLine, RemoteDisconnected
from http.cookiejar import DefaultCookiePolicy
from importlib.metadata import PackageNotFoundError, entry_points, version

import requests
from requests.adapters import HTTPAdapter
from urllib3.exceptions import HTTPError

from retrospan.exporter.delivery.answers import (
    Answer,
    Fate,
    delivered,
    retry_after_seconds,
    shortened,
    status_message,
    told,
)
from retrospan.exporter.delivery.connections import WatchedAdapter, current
from retrospan.exporter.delivery.exchange import (
    MOST_ANSWER_BYTES,
    AnswerTooLong,
    Exchange,
    attempt_seconds,
    inflated,
)
from retrospan.exporter.delivery.records import Signal
from retrospan.exporter.endpoints import credentials_in, shown
from retrospan.exporter.settings import Settings

_LATER = {408, 425, 429}
#: The address or the token is wrong, or something stands in between, which a person can set right.
_BLOCKED = {401, 402, 403, 404, 405, 407, 410, 415, 421, 426, 431, 451, 501, 505, 511}
_TOO_LARGE = 413
_SHOWN_BODY = 2_000
_PIECE_BYTES = 8_192


def _release() -> str:
    """Return the version; a program that was packed into one file may hold nothing that tells it."""
    try:
        return version("retrospan")
    except PackageNotFoundError:
        return "unknown"


#: Read with the module, on the agent's start: in the thread that sends it would import what a fork can catch half-way.
_USER_AGENT = f"retrospan-exporter/{_release()}"


class HttpTransport:
    """Posts to one URL for each signal over connections that are kept."""

    def __init__(self, settings: Settings) -> None:
        self.target = shown(settings.endpoint)
        self._urls = {Signal.TRACES: settings.endpoint, Signal.LOGS: settings.endpoint_of_logs}
        self._settings = settings
        self._headers = {
            "User-Agent": _USER_AGENT,
            **settings.headers,
            "Content-Type": "application/x-protobuf",
            "Accept-Encoding": "identity",
        }
        if settings.compression != "none":
            self._headers["Content-Encoding"] = settings.compression
        self._session = _session(settings.credential_provider)
        for url in self._urls.values():
            _bind(self._session, url)
        if settings.client_certificate:
            key = settings.client_key
            self._session.cert = (settings.client_certificate, key) if key else settings.client_certificate

    def send(self, body: bytes, signal: Signal = Signal.TRACES) -> Answer:
        url = self._urls[signal]
        if not url:
            return Answer(Fate.BLOCKED, "there is no address for log records")
        exchange = Exchange(attempt_seconds(self._settings.timeout_seconds, len(body)))
        token = current.set(exchange)
        try:
            packed = self._compressed(body)
            with self._post(url, packed) as reply:
                return _answer(reply, exchange)
        except requests.exceptions.SSLError as error:
            return Answer(Fate.BLOCKED, f"TLS: {_said(error)}")
        except requests.exceptions.Timeout:
            return Answer(Fate.LATER, f"no answer within {self._settings.timeout_seconds:g} s")
        except (requests.exceptions.ConnectionError, HTTPError) as error:
            return _unreachable(error)
        except Exception as error:  # noqa: BLE001
            # A URL that cannot be used, a proxy's trouble, an adapter of the user's own.
            return Answer(
                Fate.BLOCKED, told(error, {**self._settings.headers, "endpoint": credentials_in(url)})
            )
        finally:
            current.reset(token)

    def _post(self, url: str, packed: bytes) -> requests.Response:
        return self._session.post(
            url,
            data=packed,
            headers=self._headers,
            timeout=self._settings.timeout_seconds,
            # Given here it is stronger than REQUESTS_CA_BUNDLE.
            verify=self._settings.certificate or True,
            allow_redirects=False,
            stream=True,
        )

    def close(self) -> None:
        self._session.close()

    def _compressed(self, body: bytes) -> bytes:
        if self._settings.compression == "gzip":
            return gzip.compress(body, 6)
        return zlib.compress(body) if self._settings.compression == "deflate" else body


def _answer(reply: requests.Response, exchange: Exchange) -> Answer:
    code = reply.status_code
    content = _content(reply, exchange)
    if 200 <= code < 300:
        return delivered(content)
    said = status_message(content) or content[:_SHOWN_BODY].decode(errors="replace")
    reason = shortened(f"HTTP {code} {reply.reason or ''}".strip() + (f": {said}" if said else ""))
    if code == _TOO_LARGE:
        return Answer(Fate.TOO_LARGE, reason)
    if code in _BLOCKED or not 400 <= code < 600:
        return Answer(Fate.BLOCKED, reason)
    # Whatever stands before a collector has numbers of its own beyond 500; none of them says that spans are at fault.
    if code in _LATER or code >= 500:
        return Answer(Fate.LATER, reason, retry_after_seconds(reply.headers.get("Retry-After")))
    return Answer(Fate.REFUSED, reason)


def _content(reply: requests.Response, exchange: Exchange) -> bytes:
    """Return the body as far as it came in time and within its bytes. Raises HTTPError where a connection broke that
    had said yes: the spans that it rejected are not known."""
    content = b""
    try:
        while len(content) <= MOST_ANSWER_BYTES:
            exchange.left()
            piece: bytes = reply.raw.read(_PIECE_BYTES, decode_content=False)
            if not piece:
                break
            content += piece
    except (HTTPError, OSError):
        if not exchange.spent and 200 <= reply.status_code < 300:
            raise
    return inflated(content) if reply.headers.get("Content-Encoding") else content


def _session(provider: str | None) -> requests.Session:
    session = requests.Session()
    if provider:
        found = list(entry_points(group="opentelemetry_otlp_credential_provider", name=provider))
        if not found:
            raise LookupError(f"there is no OTLP credential provider {provider!r}")
        made = found[0].load()()
        if not isinstance(made, requests.Session):
            raise TypeError(f"the credential provider {provider!r} does not return a requests.Session")
        return made
    # Otherwise ~/.netrc would be read for each request, and what it says put in the place of the token.
    session.auth = _as_it_is
    return session


def _bind(session: requests.Session, target: str) -> None:
    """Let what goes to the target, if there is one, obey the exchange, follow no redirect, and keep no cookie."""
    # A provider may bring an adapter of its own; then only the body of the answer is bounded.
    if target and type(session.get_adapter(target)) is HTTPAdapter:
        session.mount(target, WatchedAdapter())
    # Redirects are not followed; to say where they lead, requests would read the whole body first.
    session.get_redirect_target = _nowhere  # type: ignore[method-assign]
    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))


def _nowhere(resp: requests.Response) -> None:
    return None


def _as_it_is(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request


def _innermost(error: BaseException) -> BaseException:
    """Return the error that requests and urllib3 wrapped into each other."""
    seen: set[int] = set()
    at = error
    while id(at) not in seen:
        seen.add(id(at))
        inner = [each for each in at.args if isinstance(each, BaseException)]
        reason = getattr(at, "reason", None)
        at = reason if isinstance(reason, BaseException) else inner[-1] if inner else at.__cause__ or at
    return at


def _unreachable(error: BaseException) -> Answer:
    inner = _innermost(error)
    if isinstance(inner, AnswerTooLong):
        return Answer(Fate.BLOCKED, f"{inner}: this is not an OTLP receiver")
    if isinstance(inner, BadStatusLine) and not isinstance(inner, RemoteDisconnected):
        return Answer(Fate.BLOCKED, "the port does not speak HTTP/1: gRPC is on 4317, HTTP on 4318")
    return Answer(Fate.LATER, _said(error))


def _said(error: BaseException) -> str:
    inner = _innermost(error)
    return shortened(str(inner) or type(inner).__name__)
