"""The exporter's settings, read once at the start. Order: argument, variable, default.

An invalid argument raises ConfigError: it is a mistake in the program. An invalid variable is logged in one
line and its default used: no agent may fail to start because of it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from retrospan.exporter.endpoints import DEFAULT_ENDPOINTS, endpoint_reader, shown
from retrospan.exporter.headers import entries, fit_name, fit_value
from retrospan.schemas.errors import ConfigError

MIB = 1 << 20
VARIABLES = {
    "token": "RETROSPAN_TOKEN",
    "protocol": "RETROSPAN_EXPORTER_PROTOCOL",
    "spool": "RETROSPAN_EXPORTER_SPOOL",
    "spool_bytes": "RETROSPAN_EXPORTER_SPOOL_BYTES",
    "memory_bytes": "RETROSPAN_EXPORTER_MEMORY_BYTES",
    "request_bytes": "RETROSPAN_EXPORTER_REQUEST_BYTES",
    "span_bytes": "RETROSPAN_EXPORTER_SPAN_BYTES",
    "delay_seconds": "RETROSPAN_EXPORTER_DELAY_SECONDS",
    "exit_seconds": "RETROSPAN_EXPORTER_EXIT_SECONDS",
    "redaction": "RETROSPAN_EXPORTER_REDACTION",
    "alive_seconds": "RETROSPAN_ALIVE_SECONDS",
    "frameworks": "RETROSPAN_EXPORTER_FRAMEWORKS",
}
_TRACES_PATH, _LOGS_PATH = "/v1/traces", "/v1/logs"
_HTTP, _GRPC = "http/protobuf", "grpc"
_COMPRESSIONS = ("none", "gzip", "deflate")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:([kmg])(?:i?b)?|b)?", re.IGNORECASE)
_UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where spans are sent, and the resources that may be used. Sizes in bytes, times in seconds."""

    endpoint: str
    """A URL: of the traces path with HTTP, of the host and port with gRPC."""
    logs_endpoint: str = ""
    """Where log records go, if that does not follow from the other."""
    protocol: str = _HTTP
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    timeout_seconds: float = 10.0
    compression: str = "none"
    certificate: str | None = None
    client_certificate: str | None = None
    client_key: str | None = None
    credential_provider: str | None = None
    insecure: bool = False
    spool: Path | None = None
    spool_bytes: int = 1024 * MIB
    memory_bytes: int = 64 * MIB
    """For spans that wait, together."""
    request_bytes: int = 1_000_000
    """How full a request is made: far below what any receiver takes, and little to copy at once."""
    span_bytes: int = 60 * MIB
    """A larger span loses its largest values."""
    delay_seconds: float = 0.03
    """How long a span or log record waits for others."""
    exit_seconds: float = 5.0
    """How long the end of the process may wait for delivery."""
    redaction: str = "secrets"
    alive_seconds: float = 30.0
    """How often the process says that it is alive while a span is open; 0: never."""

    @property
    def endpoint_of_logs(self) -> str:
        """The URL for log records: the receiver of spans takes them beside; '' where its path does not say where."""
        base = self.endpoint.rstrip("/").removesuffix(_TRACES_PATH)
        if base == self.endpoint.rstrip("/") and self.protocol == _HTTP:
            return self.logs_endpoint
        return self.endpoint if self.protocol == _GRPC else base + _LOGS_PATH

    @classmethod
    def read(
        cls,
        arguments: Mapping[str, object],
        environ: Mapping[str, str],
        say: Callable[[str], None],
    ) -> Settings:
        """Read the settings. Raises ConfigError for an invalid argument; reports an invalid variable to `say`."""
        sources = _Sources(arguments, environ, say)
        protocol = sources.protocol()
        endpoint = sources.endpoint(protocol)
        spool = sources.own("spool", _directory, "")
        defaults = cls(endpoint=endpoint)
        return cls(
            endpoint=endpoint,
            logs_endpoint=sources.endpoint_of_logs(),
            protocol=protocol,
            headers=sources.headers(protocol),
            timeout_seconds=sources.otel("TIMEOUT", _some_seconds, defaults.timeout_seconds),
            compression=sources.otel("COMPRESSION", _one_of(_COMPRESSIONS), defaults.compression),
            certificate=sources.text("CERTIFICATE"),
            client_certificate=sources.text("CLIENT_CERTIFICATE"),
            client_key=sources.text("CLIENT_KEY"),
            credential_provider=environ.get("OTEL_PYTHON_EXPORTER_OTLP_HTTP_TRACES_CREDENTIAL_PROVIDER")
            or environ.get("OTEL_PYTHON_EXPORTER_OTLP_HTTP_CREDENTIAL_PROVIDER"),
            insecure=not endpoint.lower().startswith("https:") and sources.otel("INSECURE", _boolean, True),
            spool=Path(spool) if spool else None,
            spool_bytes=sources.own("spool_bytes", _size, defaults.spool_bytes),
            memory_bytes=sources.own("memory_bytes", _size, defaults.memory_bytes),
            request_bytes=sources.own("request_bytes", _size, defaults.request_bytes),
            span_bytes=sources.own("span_bytes", _size, defaults.span_bytes),
            delay_seconds=sources.own("delay_seconds", _seconds, defaults.delay_seconds),
            exit_seconds=sources.own("exit_seconds", _seconds, defaults.exit_seconds),
            redaction=sources.own("redaction", str, defaults.redaction),
            alive_seconds=sources.own("alive_seconds", _seconds, defaults.alive_seconds),
        )


@dataclass(frozen=True, slots=True)
class _Sources:
    arguments: Mapping[str, object]
    environ: Mapping[str, str]
    say: Callable[[str], None]

    def own(self, name: str, read: Callable[[object], Value], default: Value) -> Value:
        given = self.arguments.get(name)
        if given is not None:
            try:
                return read(os.fspath(given) if isinstance(given, os.PathLike) else given)
            except ValueError as error:
                raise ConfigError(f"{name}={given!r}: {error}.") from error
        return self._variable(VARIABLES[name], read, default)

    def otel(self, name: str, read: Callable[[object], Value], default: Value) -> Value:
        """Return a variable of the OTLP exporters: for traces, or for all."""
        for variable in (f"OTEL_EXPORTER_OTLP_TRACES_{name}", f"OTEL_EXPORTER_OTLP_{name}"):
            if self.environ.get(variable):
                return self._variable(variable, read, default)
        return default

    def text(self, name: str) -> str | None:
        return self.otel(name, str, "") or None

    def protocol(self) -> str:
        given = self.arguments.get("protocol")
        if given is not None and given not in DEFAULT_ENDPOINTS:
            raise ConfigError(f"protocol={given!r}: use {_HTTP!r} or {_GRPC!r}.")
        if given is not None:
            return str(given)
        read = _one_of(tuple(DEFAULT_ENDPOINTS))
        return self._variable(VARIABLES["protocol"], read, "") or self.otel("PROTOCOL", read, _HTTP)

    def endpoint(self, protocol: str) -> str:
        read, path = endpoint_reader(protocol), "" if protocol == _GRPC else _TRACES_PATH
        given = self.arguments.get("endpoint")
        if given is not None:
            try:
                return _with_path(read(given), path)
            except ValueError as error:
                raise ConfigError(f"endpoint={shown(given)!r}: {error}.") from None
        base = self._variable("OTEL_EXPORTER_OTLP_ENDPOINT", read, DEFAULT_ENDPOINTS[protocol])
        return self._variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", read, _with_path(base, path))

    def endpoint_of_logs(self) -> str:
        return self._variable("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", endpoint_reader(_HTTP), "")

    def headers(self, protocol: str) -> dict[str, str]:
        """Return all headers. What is said of one that cannot be sent never holds its value."""
        found = self._headers_of_variables(protocol)
        given = self.arguments.get("headers")
        if given is not None and not isinstance(given, Mapping):
            raise ConfigError("headers: a mapping of names to values is expected.")
        for name, value in given.items() if given is not None else ():
            try:
                found[fit_name(name, protocol)] = fit_value(value, protocol)
            except ValueError as error:
                raise ConfigError(f"headers: the value of {name!r} cannot be used: {error}.") from None
        if (token := self._token(protocol, "authorization" in found)) is not None:
            found["authorization"] = f"Bearer {token}"
        return found

    def _headers_of_variables(self, protocol: str) -> dict[str, str]:
        found: dict[str, str] = {}
        for variable in ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"):
            text = self.environ.get(variable, "")
            for place, (name, value) in enumerate(entries(text), 1):
                try:
                    found[fit_name(name, protocol)] = fit_value(value, protocol)
                except ValueError as error:
                    self.say(f"{variable}: entry {place} is left out: {error}.")
            if text:
                break
        return found

    def _token(self, protocol: str, has_other: bool) -> str | None:
        """Return the token of the argument, or of the variable where no header says who sends."""
        try:
            if token := fit_value(self.arguments.get("token") or "", protocol):
                return token
        except ValueError as error:
            raise ConfigError(f"token: it cannot be used: {error}.") from None
        if has_other and self.arguments.get("token") is None:
            return None
        try:
            return fit_value(self.environ.get(VARIABLES["token"], ""), protocol) or None
        except ValueError as error:
            self.say(f"{VARIABLES['token']} cannot be used: {error}. No token is sent.")
            return None

    def _variable(self, variable: str, read: Callable[[object], Value], default: Value) -> Value:
        text = self.environ.get(variable, "").strip()
        if not text:
            return default
        try:
            return read(text)
        except ValueError as error:
            self.say(f"{variable}={shown(text)!r} is invalid: {error}. Used instead: {shown(repr(default))}.")
            return default


def _with_path(base: str, path: str) -> str:
    base = base.rstrip("/")
    return base if base.endswith(path) else base + path


def _one_of(words: tuple[str, ...]) -> Callable[[object], str]:
    def read(value: object) -> str:
        word = str(value).strip().lower()
        if word not in words:
            raise ValueError(f"use one of {', '.join(words)}")
        return word

    return read


def _boolean(value: object) -> bool:
    return str(value).strip().lower() == "true"


def _seconds(value: object) -> float:
    try:
        seconds = float(str(value))
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < 1e7:
        raise ValueError("a number of seconds is expected")
    return seconds


def _some_seconds(value: object) -> float:
    seconds = _seconds(value)
    if not seconds:
        raise ValueError("a number of seconds above 0 is expected")
    return seconds


def _directory(value: object) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise ValueError("the path of a directory is expected")
    return value


def _size(value: object) -> int:
    match = _SIZE.fullmatch(str(value).strip())
    size = int(float(match[1]) * _UNITS.get((match[2] or "").lower(), 1)) if match else 0
    if size < 1:
        raise ValueError("a size is expected, such as 64 MiB")
    return size
