"""OTLP/HTTP on port 4318: ASGI under uvicorn, in a thread of its own.

Any path that ends in `/v1/traces` or `/v1/logs`; protobuf and JSON; no encoding, gzip or deflate. Every refusal has
a `google.rpc.Status` body in the encoding of the request. Bodies are read with a bound and a deadline in the event
loop; decompression, reading and the wait for the disk happen on a thread pool.

Two mistakes that cannot be answered usefully are logged once on standard error: a gRPC exporter that talks to this
port, and an exporter whose path is wrong.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from urllib.parse import parse_qsl

from retrospan.ingest.access.fair_executor import FairExecutor
from retrospan.ingest.access.gate import Gate, bearer, clickhouse_token
from retrospan.ingest.access.tokens import Grant
from retrospan.ingest.http.messages import (
    Gone,
    Receive,
    Response,
    Scope,
    Send,
    drain,
    headers_of,
    path_of,
    send_response,
    text,
)
from retrospan.ingest.http.server import HttpServer
from retrospan.ingest.http.site import Site
from retrospan.ingest.logs import log_event, log_failure
from retrospan.ingest.machine.memory import keep_arenas_few
from retrospan.ingest.receive.budget import Hold
from retrospan.ingest.receive.encoding import CONTENT_TYPES, format_of
from retrospan.ingest.receive.intake import Format, Intake, Signal
from retrospan.ingest.receive.status import (
    PERMISSION_DENIED,
    RETRY_SECONDS,
    UNAVAILABLE,
    Status,
    partial_success,
    partial_success_json,
    status_of,
)
from retrospan.ingest.receive.unpacking import unpack
from retrospan.ingest.settings.config import Limits
from retrospan.ingest.settings.setting_values import Address
from retrospan.schemas.errors import (
    Forbidden,
    MethodNotAllowed,
    NotFound,
    PayloadTooLarge,
    PermanentError,
    RetrospanError,
    SlowRequest,
    Unauthenticated,
)

#: Answers a GET of a path with a query and a token, or has no such page. It waits for nothing; it may raise
#: Unauthenticated and Forbidden.
Pages = Callable[[str, Mapping[str, str], str | None], Response | None]
THREADS = 16
_PATHS: dict[str, Signal] = {"/v1/traces": "traces", "/v1/logs": "logs"}
_TYPE_OF: dict[Format, bytes] = {"protobuf": b"application/x-protobuf", "json": b"application/json"}


class HttpReceiver:
    """An HTTP server over an intake. Start once, stop once.

    Without a `gate` everybody may send. `pages` answer probes; without any there is `/health/live`. `log_event` gets the
    hints about mistakes.
    """

    def __init__(
        self,
        intake: Intake,
        site: Site,
        limits: Limits | None = None,
        *,
        gate: Gate | None = None,
        threads: int = THREADS,
        pages: Pages | None = None,
        log_event: Callable[[str], None] = log_event,
    ) -> None:
        """Raise ConfigError when a file of the site's `tls` cannot be used."""
        self._intake = intake
        self._address = site.address
        self._limit = (limits or intake.limits).request_bytes
        self._body_seconds = site.body_seconds
        self._log_event = log_event
        self._said: set[str] = set()
        self._gate = gate or Gate()
        self._pool = FairExecutor(threads, "retrospan-http")
        self._pages = pages or _live
        self._server = HttpServer(
            self._answer,
            site,
            self._refuse_visitor,
            flag="--http",
            name="retrospan-http",
            guarded=self._gate.guarded,
        )
        self._scheme = "https" if self._server.secure else "http"

    def start(self) -> int:
        """Listen, and return the port. Raises PortInUse."""
        keep_arenas_few()
        port = self._server.start()
        self._address = Address(self._address.host, port)
        return port

    def refuse(self, grace: float) -> None:
        """Stop accepting at once; requests in flight have `grace` seconds, for which `stop` waits."""
        self._server.refuse(grace)

    def stop(self, grace: float) -> None:
        """Stop accepting, and give requests in flight `grace` seconds to be answered; return then."""
        deadline = time.monotonic() + grace
        self._server.stop(grace)
        self._pool.end(deadline)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        content_type = headers.get(b"content-type", b"").decode("latin-1")
        speaks = _spoken(content_type)
        taken = False
        hold = self._intake.budget.hold()
        try:
            if scope["method"] in ("GET", "HEAD") and (page := self._page(scope)) is not None:
                await send_response(scope, send, page)
                return
            signal = self._signal_of(scope)
            format = format_of(content_type)
            grant = await self._admitted(receive, headers)
            body = await self._body(receive, headers, hold)
            taken = True
            encoding = headers.get(b"content-encoding", b"").decode("latin-1")
            lane = (grant.tenant, grant.name, str(scope.get("client")))
            taking = self._pool.submit_in(lane, self._take, signal, format, encoding, [body], grant, hold)
            del body  # or it would stay for as long as what it inflates to
            answer = await asyncio.wrap_future(taking)
            await _send(send, 200, _TYPE_OF[format], answer)
        except Gone:
            return
        except RetrospanError as error:
            if not taken:
                self._intake.note_refused()
            await self._refuse(send, speaks, status_of(error))
        except Exception as error:  # noqa: BLE001 - the sender must be told to try again
            log_failure("an HTTP request", error)
            await self._refuse(send, speaks, status_of(error))
        finally:
            hold.release()

    async def _admitted(self, receive: Receive, headers: dict[bytes, bytes]) -> Grant:
        """Return who sends, from the headers alone. Raises Unauthenticated and Forbidden."""
        try:
            return self._gate.admit(bearer(headers.get(b"authorization", b"").decode("latin-1")), "write")
        except (Unauthenticated, Forbidden):
            await drain(receive)
            raise

    def _page(self, scope: Scope) -> Response | None:
        """Return what is answered to a probe. Raises Unauthenticated and Forbidden."""
        query = dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
        return self._pages(path_of(scope), query, clickhouse_token(headers_of(scope)))

    def _take(
        self, signal: Signal, format: Format, encoding: str, sent: list[bytes], grant: Grant, hold: Hold
    ) -> bytes:
        """`sent` is emptied: nobody else has the body then."""
        body = sent.pop()
        try:
            body = unpack(body, encoding, hold, limit_bytes=self._limit)
        except PermanentError as error:
            # Its row is the tenant's: for who may write there, and as often as the quota allows.
            self._enter(grant, body)
            self._intake.refuse(signal, body, grant.tenant, error)
            raise
        except RetrospanError:
            self._intake.note_refused()
            raise
        self._enter(grant, body)
        take = self._intake.traces if signal == "traces" else self._intake.logs
        receipt = take(body, grant.tenant, format=format, hold=hold)
        self._gate.note_taken(grant, receipt.spans + receipt.rejected_spans)
        if format == "json":
            return partial_success_json(signal, receipt.rejected_spans, receipt.message)
        return partial_success(receipt.rejected_spans, receipt.message)

    def _enter(self, grant: Grant, body: bytes) -> None:
        try:
            self._gate.enter(grant, len(body))
        except RetrospanError:
            self._intake.note_refused()
            raise

    def _signal_of(self, scope: Scope) -> Signal:
        """Return what a path stands for. Raises NotFound and MethodNotAllowed."""
        path: str = scope["path"]
        method: str = scope["method"]
        if method == "PRI":
            self._hint(
                f"a gRPC exporter is talking to the HTTP port {self._address.port}. Point it at the gRPC port "
                "(OTEL_EXPORTER_OTLP_ENDPOINT, usually port 4317), or set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf"
            )
            raise NotFound("this is OTLP over HTTP/1.1; gRPC has a port of its own")
        signal = _PATHS.get("/" + "/".join(path.rstrip("/").rsplit("/", 2)[-2:]))
        if signal is None:
            if method == "POST" and path.rstrip("/").endswith("/v1/metrics"):
                raise NotFound("metrics are not collected here; set OTEL_METRICS_EXPORTER=none in the agent")
            if method == "POST":
                # Where there are tokens, somebody may have put one into the path.
                where = "a path" if self._gate.guarded else repr(path)
                self._hint(
                    f"an exporter posts to {where}, which does not exist. Paths are /v1/traces and /v1/logs: set "
                    f"OTEL_EXPORTER_OTLP_ENDPOINT={self._scheme}://{self._address}, which adds them by itself"
                )
            raise NotFound(f"there is nothing at {path!r}; post to /v1/traces or /v1/logs")
        if method != "POST":
            raise MethodNotAllowed(f"{method} is not supported; POST an export request")
        return signal

    def _hint(self, text: str) -> None:
        if text not in self._said and len(self._said) < 20:
            self._said.add(text)
            self._log_event(f"hint: {text}")

    async def _body(self, receive: Receive, headers: dict[bytes, bytes], hold: Hold) -> bytes:
        """Return the whole body, in time and within the limits. What is over the limit is read and dropped, up
        limit once more, so that the sender gets to read the answer."""
        limit = self._limit
        announced = headers.get(b"content-length", b"")
        too_large = announced.isdigit() and int(announced) > limit
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self._body_seconds):
                more = True
                while more and size <= 2 * limit:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Gone
                    part: bytes = message.get("body", b"")
                    size += len(part)
                    too_large = too_large or size > limit
                    if too_large:
                        parts.clear()
                    else:
                        parts.append(part)
                        hold.arrive(len(part))
                    more = message.get("more_body", False)
        except TimeoutError as cause:
            raise SlowRequest(f"the body did not arrive within {self._body_seconds:g} s") from cause
        if too_large:
            raise PayloadTooLarge(f"the request is larger than {limit} bytes", limit_bytes=limit)
        return b"".join(parts)

    async def _refuse_visitor(self, scope: Scope, send: Send, status: int, message: str) -> None:
        self._intake.note_refused()
        speaks = _spoken(dict(scope["headers"]).get(b"content-type", b"").decode("latin-1"))
        code = PERMISSION_DENIED if status == 403 else UNAVAILABLE
        refusal = Status(code, status, message, RETRY_SECONDS if status == 503 else 0)
        body = refusal.json() if speaks == "json" else refusal.protobuf()
        await _send(send, status, _TYPE_OF[speaks], body)

    async def _refuse(self, send: Send, speaks: Format, status: Status) -> None:
        body = status.json() if speaks == "json" else status.protobuf()
        extra: list[tuple[bytes, bytes]] = []
        if status.retry_seconds:
            extra.append((b"retry-after", str(status.retry_seconds).encode()))
        if status.http_status == 401:
            extra.append((b"www-authenticate", b'Bearer realm="retrospan"'))
        if status.http_status == 405:
            extra.append((b"allow", b"POST"))
        if status.http_status in (401, 403, 408, 413):
            extra.append((b"connection", b"close"))
        await _send(send, status.http_status, _TYPE_OF[speaks], body, extra)


def _live(path: str, query: Mapping[str, str], token: str | None) -> Response | None:
    """Return the one page that needs nobody else."""
    return text(200, "live\n") if path == "/health/live" else None


def _spoken(content_type: str) -> Format:
    """Return the format in which a refusal is understood."""
    return CONTENT_TYPES.get(content_type.partition(";")[0].strip().lower(), "json")


async def _send(
    send: Send, status: int, content_type: bytes, body: bytes, extra: list[tuple[bytes, bytes]] | None = None
) -> None:
    headers = [(b"content-type", content_type), (b"content-length", str(len(body)).encode()), *(extra or [])]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
