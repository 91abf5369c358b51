"""What a collector is told: one frozen tree, read once at the edge.

Order: flag, variable, file, default. Every key of the tree has a variable (`limits.request_bytes` is
`RETROSPAN_LIMITS_REQUEST_BYTES`) and a place in the TOML file. A bad value names where it came from.
Standard library only: the command line reads this before it loads anything heavy.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Literal, get_args

from retrospan.ingest.warehouse.address import parse_server
from retrospan.schemas.errors import ConfigError

Role = Literal["all", "receive", "interpret"]
KIB, MIB, GIB = 1024, 1024**2, 1024**3
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(b|kib|mib|gib|kb|mb|gb|k|m|g)?", re.IGNORECASE)
_CLUSTER = re.compile(r"[A-Za-z0-9_.-]+")
_UNITS = {"k": KIB, "m": MIB, "g": GIB}


@dataclass(frozen=True, slots=True)
class Address:
    """A place to listen at. Port 0 lets the system pick one."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return self.host in ("localhost", "::1") or self.host.startswith("127.")


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on memory, disk and time. Bytes and seconds."""

    request_bytes: int = 64 * MIB
    """One OTLP request, before and after decompression."""
    log_bytes: int = 64 * GIB
    """The whole write-ahead log. At the limit receivers answer UNAVAILABLE."""
    segment_bytes: int = 64 * MIB
    """One file of the log."""
    low_water_bytes: int = 2 * GIB
    """Free disk space below which nothing is accepted."""
    queries: int = 8
    """Queries that run at the same time; further ones wait a moment, then get 503."""
    query_seconds: float = 60.0
    query_memory_bytes: int = 2 * GIB
    query_threads: int = 2
    query_result_bytes: int = 512 * MIB
    query_result_rows: int = 50_000_000
    query_text_bytes: int = 256 * KIB
    """The text of one query: as much as the engine reads by default."""


@dataclass(frozen=True, slots=True)
class LoaderSettings:
    """How records become rows."""

    batch_spans: int = 20_000
    batch_bytes: int = 64 * MIB
    wait_seconds: float = 0.2
    """How long a batch waits for more records."""
    memory_bytes: int = 4 * GIB


@dataclass(frozen=True, slots=True)
class InterpreterSettings:
    """How rows become runs."""

    quiet_seconds: float = 1.0
    """How long a run must be quiet before it is read."""
    memory_bytes: int = 2 * GIB
    rules: Path | None = None
    """A file of mutation rules: which tool calls change which entity. Read at the start and by every rebuild."""


@dataclass(frozen=True, slots=True)
class RedactionSettings:
    """What is taken out of requests before anything is stored."""

    enabled: bool = False
    rules: Path | None = None
    """A file of rules. Without it, all built-in ones."""


@dataclass(frozen=True, slots=True)
class TlsSettings:
    """Files in PEM. With certificate and key, every port speaks TLS and nothing else."""

    certificate: Path | None = None
    """The collector's certificate, then those that lead to its authority."""
    key: Path | None = None
    client_ca: Path | None = None
    """Authorities: only clients with a certificate of one of them are let in."""


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """The ClickHouse server that `warehouse` names. The login here goes before the one in the address."""

    user: str = ""
    password: str = field(default="", repr=False)
    cluster: str = ""
    """On all nodes of which tables are made: replicated, and spread over its shards."""
    timeout_seconds: float = 120.0
    """After this a statement counts as lost."""
    ca: Path | None = None
    """Authorities to trust, for `clickhouses://`."""


@dataclass(frozen=True, slots=True)
class RetentionSettings:
    """How long runs are kept, and when the collector sees to that by itself."""

    policy: Path | None = None
    """A file of rules, read each time. Without it, the defaults."""
    every_seconds: float = 0.0
    """How often what is due goes. 0: only when `retrospan retention apply` says so."""


@dataclass(frozen=True, slots=True)
class Config:
    """Everything `retrospan serve` can be told."""

    data: Path = Path("retrospan-data")
    grpc: Address = Address("127.0.0.1", 4317)
    http: Address = Address("127.0.0.1", 4318)
    sql: Address = Address("127.0.0.1", 8123)
    warehouse: str | None = field(default=None, repr=False)
    """A ClickHouse server, as clickhouse://user:password@host:8123/retrospan. Without it, the embedded one."""
    role: Role = "all"
    """receive: no run is interpreted here; interpret: nothing is received here. Both take a `warehouse`."""
    tokens: Path | None = None
    """The file of tokens. Without it, whoever reaches a port may do everything."""
    open: bool = False
    """Whether addresses that other machines reach may be listened at without tokens."""
    metrics_to: str | None = None
    """Where the collector's own metrics go as OTLP over HTTP: a URL. Without it nowhere."""
    metrics_seconds: float = 60.0
    """How often they go there."""
    drain_seconds: float = 60.0
    """How long a stop waits for what is accepted to be loaded and interpreted. The rest stays in the log."""
    tls: TlsSettings = field(default_factory=TlsSettings)
    redaction: RedactionSettings = field(default_factory=RedactionSettings)
    limits: Limits = field(default_factory=Limits)
    loader: LoaderSettings = field(default_factory=LoaderSettings)
    interpreter: InterpreterSettings = field(default_factory=InterpreterSettings)
    server: ServerSettings = field(default_factory=ServerSettings)
    retention: RetentionSettings = field(default_factory=RetentionSettings)

    @classmethod
    def read(
        cls,
        arguments: Mapping[str, object] | None = None,
        environ: Mapping[str, str] | None = None,
        file: Path | None = None,
    ) -> Config:
        """Put the tree together.

        Args:
            arguments: flags by key (`grpc`, `limits.request_bytes`); None means not given.
            environ: the process's variables.
            file: a TOML file; without it, the one RETROSPAN_CONFIG names, if any.

        Raises:
            ConfigError: an unknown key, a value that cannot be used, a file that cannot be read.
        """
        environ = environ or {}
        if file is None and environ.get("RETROSPAN_CONFIG"):
            file = Path(environ["RETROSPAN_CONFIG"])
        told: dict[str, object] = {}
        for key, (value, line) in (_file_values(file) if file else {}).items():
            told[key] = _value(key, value, f"{file} line {line}")
        for key in _KEYS:
            if text := environ.get(variable(key), ""):
                told[key] = _value(key, text, variable(key))
        for key, given in (arguments or {}).items():
            if given is not None:
                _known(key, "the flags")
                told[key] = _value(key, given, f"--{key.replace('_', '-')}")
        config = _built(cls(), told)
        config.validate()
        return config

    def validate(self) -> None:
        """Refuse what cannot work together.

        Raises:
            ConfigError: says which setting and what to do.
        """
        if self.warehouse is not None:
            parse_server(self.warehouse)
        elif self.role != "all":
            raise ConfigError(
                f"role: {self.role} needs a ClickHouse server that others reach as well: one process owns an "
                "embedded warehouse. Name one (--warehouse clickhouse://…), or use --role all."
            )
        if self.server.cluster and not _CLUSTER.fullmatch(self.server.cluster):
            raise ConfigError(f"server.cluster: {self.server.cluster!r} is no name of a cluster.")
        if self.server != ServerSettings() and self.warehouse is None:
            raise ConfigError("server: there are settings of a server, and warehouse names none.")
        if self.redaction.rules is not None and not self.redaction.enabled:
            raise ConfigError(
                f"redaction.rules: {self.redaction.rules} is named, but nothing is redacted. Set redaction.enabled = "
                "true, or leave the file out."
            )
        self._validate_access()

    def _validate_access(self) -> None:
        reached = [
            f"{name} {address}"
            for name, address in (("grpc", self.grpc), ("http", self.http), ("sql", self.sql))
            if not address.loopback
        ]
        if reached and self.tokens is None and not self.open:
            raise ConfigError(
                f"{', '.join(reached)}: reachable from other machines, and there are no tokens, so that anybody "
                "there could send and read everything. Name a file of tokens (--tokens FILE), or listen at "
                "127.0.0.1, or say that you mean it: --open (open = true)."
            )
        if (self.tls.certificate is None) != (self.tls.key is None):
            raise ConfigError("tls: tls.certificate and tls.key belong together, and one of them is missing.")
        if self.tls.client_ca is not None and self.tls.certificate is None:
            raise ConfigError("tls: tls.client_ca asks for tls.certificate and tls.key.")


def variable(key: str) -> str:
    """The environment variable of a key."""
    return "RETROSPAN_" + key.replace(".", "_").upper()


def parse_address(text: str) -> Address:
    """Read HOST:PORT, [V6]:PORT or :PORT (this machine only)."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise ValueError("not of the form HOST:PORT, such as 127.0.0.1:4317")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    return Address(host or "127.0.0.1", int(port))


def parse_bytes(value: object) -> int:
    """Read a size: a number of bytes, or text such as `64 MiB`."""
    if isinstance(value, int) and not isinstance(value, bool):
        size = value
    elif isinstance(value, str) and (match := _SIZE.fullmatch(value.strip())):
        size = int(float(match[1]) * _UNITS.get((match[2] or "b")[0].lower(), 1))
    else:
        raise ValueError("not a size such as 64 MiB")
    if size < 0:
        raise ValueError("a size is not negative")
    return size


def _seconds(value: object) -> float:
    try:
        seconds = float(value) if isinstance(value, str | int | float) else -1.0
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < 1e9:
        raise ValueError("not a number of seconds")
    return seconds


def _count(value: object) -> int:
    text = str(value)
    if isinstance(value, bool) or not text.isdecimal() or int(text) < 1:
        raise ValueError("not a whole number from 1")
    return int(text)


def _address(value: object) -> Address:
    return value if isinstance(value, Address) else parse_address(str(value))


def _role(value: object) -> Role:
    for role in get_args(Role):
        if value == role:
            return role  # type: ignore[no-any-return]  # get_args is untyped
    raise ValueError(f"not one of {', '.join(get_args(Role))}")


def _flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    known = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    if str(value).strip().lower() not in known:
        raise ValueError("not true or false")
    return known[str(value).strip().lower()]


def _path(value: object) -> Path:
    if not str(value):
        raise ValueError("empty")
    return Path(str(value)).expanduser()


def _reader(key: str) -> Callable[[object], object]:
    named: dict[str, Callable[[object], object]] = {
        "data": _path,
        "grpc": _address,
        "http": _address,
        "sql": _address,
        "warehouse": str,
        "role": _role,
        "tokens": _path,
        "open": _flag,
        "metrics_to": str,
        "redaction.enabled": _flag,
        "redaction.rules": _path,
        "interpreter.rules": _path,
        "retention.policy": _path,
        "tls.certificate": _path,
        "tls.key": _path,
        "tls.client_ca": _path,
        "server.user": str,
        "server.password": str,
        "server.cluster": str,
        "server.ca": _path,
    }
    if key in named:
        return named[key]
    if key.endswith("_bytes"):
        return parse_bytes
    return _seconds if key.endswith("_seconds") else _count


def _keys(tree: object, prefix: str = "") -> list[str]:
    found: list[str] = []
    if is_dataclass(tree):
        for part in fields(tree):
            value = getattr(tree, part.name)
            nested = is_dataclass(value) and not isinstance(value, Address)
            found += _keys(value, f"{prefix}{part.name}.") if nested else [prefix + part.name]
    return found


_KEYS = tuple(_keys(Config()))


def _known(key: str, place: str) -> None:
    if key not in _KEYS:
        near = get_close_matches(key, _KEYS, 1, 0.5)
        hint = f" Did you mean {near[0]!r}?" if near else f" Known: {', '.join(_KEYS)}."
        raise ConfigError(f"unknown key {key!r} in {place}.{hint}")


def _value(key: str, value: object, source: str) -> object:
    try:
        return _reader(key)(value)
    except ValueError as error:
        raise ConfigError(f"{key} = {value!r} (from {source}): {error}.") from error


def _file_values(file: Path) -> dict[str, tuple[object, int]]:
    """The file's values by key, each with its line."""
    try:
        text = file.read_text(encoding="utf-8")
        tree = tomllib.loads(text)
    except OSError as error:
        raise ConfigError(f"cannot read {file}: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} is not TOML: {error}.") from error
    values: dict[str, tuple[object, int]] = {}

    def walk(table: Mapping[str, object], prefix: str) -> None:
        for name, value in table.items():
            key = prefix + name
            if isinstance(value, dict) and any(known.startswith(key + ".") for known in _KEYS):
                walk(value, key + ".")
            else:
                line = _line(text, key)
                _known(key, f"{file} line {line}")
                values[key] = (value, line)

    walk(tree, "")
    return values


def _line(text: str, key: str) -> int:
    """The line of the file that sets the key, or opens the table of that name."""
    section = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if heading := re.match(r"\s*\[\s*([^\]]+?)\s*\]", line):
            section = heading[1].replace('"', "") + "."
            if section == key + ".":
                return number
        elif (setting := re.match(r'\s*"?([\w.-]+)"?\s*=', line)) and section + setting[1] == key:
            return number
    return 1


def _built(config: Config, told: Mapping[str, object]) -> Config:
    top = {key: value for key, value in told.items() if "." not in key}
    names = ("tls", "redaction", "limits", "loader", "interpreter", "server", "retention")
    sections = {name: replace(getattr(config, name), **_section(told, f"{name}.")) for name in names}
    # Every value went through the reader of its key, so the types fit the fields.
    return replace(config, **top, **sections)  # type: ignore[arg-type]


def _section(told: Mapping[str, object], prefix: str) -> dict[str, object]:
    return {key.removeprefix(prefix): value for key, value in told.items() if key.startswith(prefix)}
