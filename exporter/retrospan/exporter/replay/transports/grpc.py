"""gRPC opens its connections in C, where nothing of Python's is asked: calls are refused before they begin.

Telemetry is taken and kept back, as over HTTP.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from retrospan.exporter.replay.current import current
from retrospan.exporter.replay.patches import patch

_TELEMETRY = "/opentelemetry.proto.collector."


#: The classes of calls, of which no module but this one tells.
_CALLS = (
    ("_UnaryUnaryMultiCallable", ("with_call", "future")),
    ("_UnaryStreamMultiCallable", ("__call__",)),
    ("_SingleThreadedUnaryStreamMultiCallable", ("__call__",)),
    ("_StreamUnaryMultiCallable", ("__call__", "with_call", "future")),
    ("_StreamStreamMultiCallable", ("__call__",)),
)


def install(name: str) -> None:
    """Refuse calls on every channel. Harmless when installed."""
    channel = import_module("grpc._channel")
    patch(channel._UnaryUnaryMultiCallable, "__call__", _call)
    for kind, ways in _CALLS:
        for way in ways if hasattr(channel, kind) else ():
            patch(getattr(channel, kind), way, _refuse)


def _is_let_out(call: Any) -> bool:
    replaying = current()
    if replaying is None:
        return True
    target = call._channel.target() if hasattr(call, "_channel") else b""
    host, _, port = target.decode("utf-8", "replace").rpartition(":")
    host = host.rpartition("/")[2]
    return replaying.may_connect(host, int(port) if port.isdigit() else None)


def _method(call: Any) -> str:
    method = getattr(call, "_method", b"")
    return method.decode("utf-8", "replace") if isinstance(method, bytes) else str(method)


def _call(original: Any, call: Any, *args: Any, **named: Any) -> Any:
    replaying = current()
    if replaying is None or _is_let_out(call):
        return original(call, *args, **named)
    if _method(call).startswith(_TELEMETRY):
        replaying.report.kept_back += 1
        return call._response_deserializer(b"") if call._response_deserializer else b""
    raise replaying.refuse(f"the gRPC call {_method(call)}")


def _refuse(original: Any, call: Any, *args: Any, **named: Any) -> Any:
    replaying = current()
    if replaying is None or _is_let_out(call):
        return original(call, *args, **named)
    raise replaying.refuse(f"the gRPC call {_method(call)}")
