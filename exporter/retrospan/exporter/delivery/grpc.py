"""OTLP over gRPC. The only module that knows grpcio, which the extra `[grpc]` installs."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

import grpc

from retrospan.exporter.delivery.answers import Answer, Fate, delivered, retry_info_seconds, shortened, told
from retrospan.exporter.delivery.exchange import MOST_ANSWER_BYTES, attempt_seconds, inflated
from retrospan.exporter.delivery.records import Signal
from retrospan.exporter.delivery.threads import beside_greenlets
from retrospan.exporter.endpoints import shown
from retrospan.exporter.settings import Settings
from retrospan.schemas.redaction.walk import fields
from retrospan.schemas.wire import NotAMessage

# grpcio imports them with the first channel, in the thread that sends. A child that is forked meanwhile has no such
# thread, and waits for ever for the import to end.
for _name in ("grpc._channel", "grpc.experimental"):
    with suppress(ImportError):
        import_module(_name)

_EXPORT = {
    Signal.TRACES: "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    Signal.LOGS: "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
}
_BLOCKED = {"UNAUTHENTICATED", "PERMISSION_DENIED", "UNIMPLEMENTED", "NOT_FOUND"}
_STALE = {"DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED", "INTERNAL", "UNKNOWN"}
_REFUSED = {"INVALID_ARGUMENT", "FAILED_PRECONDITION", "ALREADY_EXISTS"}
_OPTIONS = (
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", MOST_ANSWER_BYTES),
    # grpcio would inflate an answer whole before it looks at its size.
    ("grpc.per_message_decompression", 0),
    # Of headers, and of trailers. Beyond the first some answers would fail, beyond the second all.
    ("grpc.max_metadata_size", 16 * 1024),
    ("grpc.absolute_max_metadata_size", 16 * 1024),
    # Neither a name's TXT record nor a receiver says how often a call is repeated, or where it goes.
    ("grpc.service_config_disable_resolution", 1),
    ("grpc.enable_retries", 0),
    # A new channel is a new connection.
    ("grpc.use_local_subchannel_pool", 1),
)
_DEFLATED = (b"\x1f\x8b", b"\x78")
#: What grpcio itself says of an answer beyond the limits above: with the same code as a receiver of a request.
_TOO_LONG = ("CLIENT: Received message larger", "received metadata size exceeds")
_SIZE_WORDS = ("larger than max", "too large", "request_bytes", "exceeds")


class GrpcTransport:
    """Calls one address over a channel that is kept. Made before a fork it must not be used after it."""

    def __init__(self, settings: Settings) -> None:
        self.target = shown(settings.endpoint)
        self._settings = settings
        self._metadata = tuple((name.lower(), value) for name, value in settings.headers.items())
        # Read once: a file that is gone later costs no spans.
        self._credentials = None if settings.insecure else _credentials(settings)
        self._connect()

    def _connect(self) -> None:
        settings = self._settings
        place = urlsplit(settings.endpoint).netloc or settings.endpoint
        compression = grpc.Compression.Gzip if settings.compression == "gzip" else None
        if self._credentials is None:
            self._channel = grpc.insecure_channel(place, _OPTIONS, compression)
        else:
            self._channel = grpc.secure_channel(place, self._credentials, _OPTIONS, compression)
        self._export = {signal: self._channel.unary_unary(path) for signal, path in _EXPORT.items()}

    def send(self, body: bytes, signal: Signal = Signal.TRACES) -> Answer:
        try:
            seconds = attempt_seconds(self._settings.timeout_seconds, len(body))
            call = partial(self._export[signal], body, timeout=seconds, metadata=self._metadata)
            reply = bytes(beside_greenlets(call))
        except grpc.RpcError as error:
            if _code(error) in _STALE:
                # Whoever was silent on this connection, or said too much, will be so for ever.
                self._channel.close()
                self._connect()
            return _answer(error)
        except Exception as error:  # noqa: BLE001
            return Answer(Fate.BLOCKED, told(error, self._settings.headers))
        # No ExportTraceServiceResponse begins like this.
        return delivered(inflated(reply) if reply.startswith(_DEFLATED) else reply)

    def close(self) -> None:
        self._channel.close()


def _credentials(settings: Settings) -> Any:
    def read(path: str | None) -> bytes | None:
        if not path:
            return None
        with open(path, "rb") as file:
            return file.read()

    return grpc.ssl_channel_credentials(
        read(settings.certificate), read(settings.client_key), read(settings.client_certificate)
    )


def _code(error: Any) -> str:
    return str(error.code().name)


def _answer(error: Any) -> Answer:
    code, details = _code(error), error.details() or ""
    reason = shortened(f"gRPC {code}: {details}")
    if any(words in details for words in _TOO_LONG):
        return Answer(Fate.BLOCKED, "the answer is too long: this is not an OTLP receiver")
    wait = _wait(dict(error.trailing_metadata() or ()))
    if code == "RESOURCE_EXHAUSTED" and wait is None and any(word in details for word in _SIZE_WORDS):
        return Answer(Fate.TOO_LARGE, reason)
    if "http1.x server" in details or "HTTP/2" in details:
        return Answer(Fate.BLOCKED, "the port speaks HTTP (4318); OTLP over gRPC is on 4317")
    if code in _BLOCKED:
        return Answer(Fate.BLOCKED, reason)
    return Answer(Fate.REFUSED, reason) if code in _REFUSED else Answer(Fate.LATER, reason, wait)


def _wait(trailers: dict[str, Any]) -> float | None:
    """RetryInfo stands in a trailer of its own, or among the details of a Status {3 Any {1 type, 2 value}}."""
    if info := trailers.get("google.rpc.retryinfo-bin"):
        return retry_info_seconds(bytes(info))
    try:
        for detail in fields(bytes(trailers.get("grpc-status-details-bin") or b"")):
            if detail.number == 3:
                parts = {each.number: each.content for each in fields(detail.content)}
                if parts.get(1, b"").endswith(b"google.rpc.RetryInfo"):
                    return retry_info_seconds(parts.get(2, b""))
    except NotAMessage:
        pass
    return None
