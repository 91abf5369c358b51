"""OTLP/gRPC on port 4317: traces and logs; metrics are answered UNIMPLEMENTED.

Who may send is settled from the metadata, before a byte of the request is read. Requests come as raw bytes (no
deserialiser) on a small thread pool, in turns by token and connection; each thread waits for its group commit, so
the pool's size bounds how many requests one fdatasync can carry. The size limit before decompression is the
library's; messages are inflated here, within the budget that all requests share.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, NoReturn, ParamSpec, Protocol, TypeVar

import grpc

from retrospan.ingest.access.fair_executor import FairExecutor, Lane
from retrospan.ingest.access.gate import Gate, bearer
from retrospan.ingest.access.tls import grpc_credentials
from retrospan.ingest.access.tokens import Grant
from retrospan.ingest.logs import log_failure
from retrospan.ingest.machine.memory import keep_arenas_few
from retrospan.ingest.machine.operating_system import descriptor_limit
from retrospan.ingest.machine.port import bind, port_in_use
from retrospan.ingest.receive.budget import Hold
from retrospan.ingest.receive.call_deadline import CONTENDED_SECONDS, MESSAGE_SECONDS, ReadDeadline
from retrospan.ingest.receive.intake import Acknowledgement, Intake, Signal
from retrospan.ingest.receive.status import UNIMPLEMENTED, Status, partial_success, status_of
from retrospan.ingest.receive.unpacking import unpack_message
from retrospan.ingest.settings.config import Limits, TlsSettings
from retrospan.ingest.settings.setting_values import Address
from retrospan.schemas.errors import PermanentError, RetrospanError

P = ParamSpec("P")
T = TypeVar("T")
THREADS = 16
#: Calls that one connection may have open. Without a bound, calls that are opened and reset at once by the
#: thousand are all worked on, and calls of others get cancelled.
STREAMS = 256
#: A connection without a call for so long is closed; a client that still wants one opens another by itself.
IDLE_MILLISECONDS = 60_000
#: Nor has one that does not say within this time what it speaks.
SILENT_MILLISECONDS = 10_000
#: Connections at once, which take some 17 kB each; further ones are closed.
MOST_CONNECTIONS = 16_384
_CODES: dict[int, grpc.StatusCode] = {code.value[0]: code for code in grpc.StatusCode}
_COLLECTOR = "opentelemetry.proto.collector"
_NO_METRICS = "metrics are not collected here; set OTEL_METRICS_EXPORTER=none in the agent"


class Context(Protocol):
    """What is used of grpc.ServicerContext."""

    def abort(self, code: grpc.StatusCode, details: str) -> NoReturn: ...

    def set_trailing_metadata(self, metadata: tuple[tuple[str, bytes], ...]) -> None: ...


class Details(Protocol):
    """What is used of grpc.HandlerCallDetails."""

    @property
    def method(self) -> str: ...

    @property
    def invocation_metadata(self) -> Iterable[tuple[str, str | bytes]]: ...


class Take(Protocol):
    """`Intake.traces` or `Intake.logs`."""

    def __call__(self, body: bytes, tenant: str, *, hold: Hold) -> Acknowledgement: ...


def most_connections() -> int:
    """How many connections the port may have: the library takes a descriptor for each, and leaves the log a quarter."""
    limit = descriptor_limit()
    return MOST_CONNECTIONS if limit is None else min(MOST_CONNECTIONS, limit // 4 * 3)


class GrpcReceiver:
    """A gRPC server over an intake. Start once, stop once."""

    def __init__(
        self,
        intake: Intake,
        address: Address,
        limits: Limits | None = None,
        *,
        gate: Gate | None = None,
        tls: TlsSettings | None = None,
        threads: int = THREADS,
        message_seconds: float = MESSAGE_SECONDS,
        contended_seconds: float = CONTENDED_SECONDS,
        connections: int = 0,
    ) -> None:
        """Without a `gate` everybody may send. A call's message has `message_seconds` to arrive, or
        `contended_seconds` while other calls wait for a thread. `connections` are there at once at most; 0: as many as
        the process's descriptors allow.

        Raises:
            ConfigError: a file of `tls` cannot be used.
        """
        self._address = address
        self._credentials = grpc_credentials(tls)
        self._ended: Any = None
        limit = (limits or intake.limits).request_bytes
        self._pool = _Calls(threads, message_seconds, contended_seconds, intake)
        # The library asks for submit() and shutdown() only, and names the one class of its own choice.
        executor: Any = self._pool
        self._server: Any = grpc.server(
            executor,
            options=[
                ("grpc.max_receive_message_length", limit),
                # The library would inflate before anybody is asked whether there is room for that.
                ("grpc.per_message_decompression", 0),
                # Probing lets a sender be megabytes ahead of what anybody asked for, and what was on its way for a
                # call that was ended stays in memory for as long as its connection does.
                ("grpc.http2.bdp_probe", 0),
                ("grpc.max_concurrent_streams", STREAMS),
                ("grpc.max_connection_idle_ms", IDLE_MILLISECONDS),
                ("grpc.server_handshake_timeout_ms", SILENT_MILLISECONDS),
                ("grpc.max_allowed_incoming_connections", connections or most_connections()),
                ("grpc.so_reuseport", 0),
            ],
        )
        self._server.add_generic_rpc_handlers((_Services(intake, gate or Gate(), self._pool.patience),))

    def start(self) -> int:
        """Listen, and return the port. Raises PortInUse."""
        # The library would print machinery of its own about a taken port; asking first names the owner instead.
        bind(self._address, flag="--grpc").close()
        try:
            port: int = (
                self._server.add_insecure_port(str(self._address))
                if self._credentials is None
                else self._server.add_secure_port(str(self._address), self._credentials)
            )
        except RuntimeError as cause:
            raise port_in_use(self._address, flag="--grpc") from cause
        keep_arenas_few()
        self._pool.patience.start()
        self._server.start()
        return port

    @property
    def waiting(self) -> int:
        """How many calls wait for a thread."""
        return self._pool.waiting

    def refuse(self, grace: float) -> None:
        """Stop accepting at once; requests in flight have `grace` seconds, for which `stop` waits."""
        self._ended = self._ended or self._server.stop(grace)

    def stop(self, grace: float) -> None:
        """Stop accepting, and give requests in flight `grace` seconds to be answered; return then."""
        deadline = time.monotonic() + grace
        self.refuse(grace)  # a second time it changes nothing
        self._ended.wait()
        self._pool.patience.stop()
        self._pool.end(deadline)


class _Calls(FairExecutor):
    """The server's thread pool: calls take turns, and none keeps a thread waiting for its message for long."""

    def __init__(self, threads: int, seconds: float, contended_seconds: float, intake: Intake) -> None:
        super().__init__(threads, "retrospan-grpc", _lane)
        self.patience = ReadDeadline(
            lambda: self.waiting > 0,
            seconds,
            contended_seconds,
            budget=intake.budget,
            note_refused=intake.note_refused,
        )

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run a call in its turn."""
        call = _call_of(args)

        def run() -> T:
            if call is not None:
                self.patience.wait_for(call)
            try:
                return fn(*args, **kwargs)
            finally:
                self.patience.arrived()

        return self.submit_in(_lane(args), run)


class _Services:
    """What the server asks for each call, before it reads the request: the handler, or the refusal."""

    def __init__(self, intake: Intake, gate: Gate, patience: ReadDeadline) -> None:
        self._patience = patience
        self._intake = intake
        self._gate = gate
        self._takes: dict[str, tuple[Signal, Take] | None] = {
            f"/{_COLLECTOR}.trace.v1.TraceService/Export": ("traces", intake.traces),
            f"/{_COLLECTOR}.logs.v1.LogsService/Export": ("logs", intake.logs),
            f"/{_COLLECTOR}.metrics.v1.MetricsService/Export": None,
        }

    def service(self, details: Details) -> Any:
        """Return the handler that the server asks for; None for a method that is not known."""
        if details.method not in self._takes:
            return None
        take = self._takes[details.method]
        if take is None:
            return grpc.stream_unary_rpc_method_handler(_Refusal(Status(UNIMPLEMENTED, 501, _NO_METRICS)))
        found = next((value for key, value in details.invocation_metadata if key == "authorization"), None)
        try:
            grant = self._gate.admit(bearer(found if isinstance(found, str) else None), "write")
        except RetrospanError as error:
            self._intake.note_refused()
            # A handler of streams is called before the request is read, and this one does not read it.
            return grpc.stream_unary_rpc_method_handler(_Refusal(status_of(error)))
        return grpc.unary_unary_rpc_method_handler(
            _Export(*take, self._intake, self._gate, grant, self._patience)
        )


@dataclass(frozen=True, slots=True)
class _Export:
    """Answers one call of an admitted sender."""

    signal: Signal
    take: Take
    intake: Intake
    gate: Gate
    grant: Grant
    patience: ReadDeadline

    def __call__(self, body: bytes, context: Context) -> bytes:
        self.patience.arrived(len(body))
        with self.intake.budget.hold() as hold:
            return self._answered(body, context, hold)

    def _answered(self, body: bytes, context: Context, hold: Hold) -> bytes:
        try:
            try:
                hold.arrive(len(body))
                body = unpack_message(body, hold, limit_bytes=self.intake.limits.request_bytes)
            except PermanentError as error:
                # Its row is the tenant's: for who may write there, and as often as the quota allows.
                self._enter(body)
                self.intake.refuse(self.signal, body, self.grant.tenant, error)
                raise
            except RetrospanError:
                self.intake.note_refused()
                raise
            self._enter(body)
            receipt = self.take(body, self.grant.tenant, hold=hold)
            self.gate.note_taken(self.grant, receipt.spans + receipt.rejected_spans)
        except RetrospanError as error:
            _abort(context, status_of(error))
        except Exception as error:  # noqa: BLE001 - the sender must be told to try again
            log_failure("a gRPC request", error)
            _abort(context, status_of(error))
        return partial_success(receipt.rejected_spans, receipt.message)

    def _enter(self, body: bytes) -> None:
        try:
            self.gate.enter(self.grant, len(body))
        except RetrospanError:
            self.intake.note_refused()
            raise


@dataclass(frozen=True, slots=True)
class _Refusal:
    """Ends a call without reading its request."""

    status: Status

    def __call__(self, requests: object, context: Context) -> bytes:
        _abort(context, self.status)


def _lane(arguments: tuple[Any, ...]) -> Lane:
    """Whose call the server's thread pool is given: the server passes our handler, and its event of the call."""
    grant = next((argument.grant for argument in arguments if isinstance(argument, _Export)), None)
    call = _call_of(arguments)
    connection = str(call.peer()) if call is not None else ""
    return (grant.tenant, grant.name, connection) if grant is not None else ("", "", connection)


def _call_of(arguments: tuple[Any, ...]) -> Any:
    """Return the library's call among what it gives the pool; None where it gives none."""
    return next((argument.call for argument in arguments if hasattr(argument, "call")), None)


def _abort(context: Context, status: Status) -> NoReturn:
    """End the call. Python's exporter reads the delay from a trailer of its own, the others from the details."""
    trailers: list[tuple[str, bytes]] = [("grpc-status-details-bin", status.protobuf())]
    if status.retry_seconds:
        trailers.append(("google.rpc.retryinfo-bin", status.retry_info()))
    context.set_trailing_metadata(tuple(trailers))
    context.abort(_CODES[status.grpc_code], status.message)
