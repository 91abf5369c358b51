"""The configuration of a collector: one frozen tree, read once at the edge.

Order: flag, variable, file, default. Every key of the tree has a variable (`limits.request_bytes` is
`RETROSPAN_LIMITS_REQUEST_BYTES`) and a place in the TOML file. The error for an invalid value names its source.
Standard library only: the command line reads this before it loads anything heavy.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from retrospan.ingest.settings.server_address import parse_server
from retrospan.ingest.settings.setting_sources import PAGE, Given, given_settings
from retrospan.ingest.settings.setting_values import (
    GIB,
    KIB,
    MIB,
    Address,
    as_address,
    parse_bytes,
    parse_count,
    parse_flag,
    parse_host_names,
    parse_origins,
    parse_path,
    parse_seconds,
)
from retrospan.schemas.errors import ConfigError

Role = Literal["all", "receive", "interpret"]
_CLUSTER = re.compile(r"[A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on memory, disk and time. Bytes and seconds."""

    request_bytes: int = 64 * MIB
    """One OTLP request, before and after decompression."""
    requests_bytes: int = 384 * MIB
    """The memory that all incoming requests may hold together, from arrival until they are in the log."""
    log_bytes: int = 64 * GIB
    """The whole write-ahead log. When it is full, receivers answer UNAVAILABLE."""
    segment_bytes: int = 64 * MIB
    """One file of the log."""
    low_water_bytes: int = 2 * GIB
    """Free disk space below which nothing is accepted."""
    queries: int = 8
    """Queries that run at the same time; further ones wait a moment, then get 503."""
    queries_per_token: int = 6
    """Of these, queries with the same token."""
    query_seconds: float = 60.0
    """How long one query may run; then it is stopped."""
    query_memory_bytes: int = 2 * GIB
    """The memory that one query may use."""
    query_threads: int = 2
    """The threads that one query may use."""
    query_result_bytes: int = 512 * MIB
    """The largest answer of one query."""
    query_result_rows: int = 50_000_000
    """The most rows in the answer of one query."""
    query_text_bytes: int = 256 * KIB
    """The longest text of a query: the engine's own default."""


@dataclass(frozen=True, slots=True)
class LoaderSettings:
    """How records become rows."""

    batch_spans: int = 20_000
    """The most spans and log records of one insert."""
    batch_bytes: int = 64 * MIB
    """The most bytes of the log in one insert."""
    wait_seconds: float = 0.2
    """How long a batch waits for more records; up to a second while they keep trickling in, and five when more is
    received than can be loaded meanwhile."""
    memory_bytes: int = 4 * GIB
    """The memory that one statement of the loader may use in the embedded engine, within the container's limit."""


@dataclass(frozen=True, slots=True)
class InterpreterSettings:
    """How rows become runs."""

    quiet_seconds: float = 1.0
    """How long a run must be quiet before it is interpreted, unless it is new and its root span has ended."""
    memory_bytes: int = 2 * GIB
    """The memory that the interpreter's statements may use in the embedded engine, in addition to the loader's."""
    rules: Path | None = None
    """A file of mutation rules: which tool calls change which entity. Read at startup and by every rebuild."""
    processes: int = 2
    """How many processes interpret runs at a time, beside the one for long runs. More than one are used only while many
    runs wait, and where the container allows at least 4 GiB."""
    run_bytes: int = 2 * GIB
    """The most memory of each interpreting process, and no more than a quarter of what the container allows. A run that
    needs more is listed as not interpreted."""
    run_seconds: float = 1800.0
    """How long interpreting one run may take; a run that takes longer is listed as not interpreted."""


@dataclass(frozen=True, slots=True)
class RedactionSettings:
    """What is removed from requests before anything is stored."""

    enabled: bool = False
    """Whether anything is removed."""
    rules: Path | None = None
    """A file of rules. Without it, all built-in ones."""


@dataclass(frozen=True, slots=True)
class TlsSettings:
    """Files in PEM. With certificate and key, every port speaks TLS and nothing else."""

    certificate: Path | None = None
    """The collector's certificate, followed by its chain."""
    key: Path | None = None
    """The certificate's private key."""
    client_ca: Path | None = None
    """Certificate authorities: only clients with a certificate from one of them are let in."""


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """The ClickHouse server that `warehouse` names. The login here takes precedence over the one in the address."""

    user: str = ""
    """The name to log in with."""
    password: str = field(default="", repr=False)
    """Its password."""
    cluster: str = ""
    """A cluster: tables are created on all its nodes, replicated, and spread over its shards."""
    timeout_seconds: float = 120.0
    """How long to wait for a statement before it counts as lost."""
    ca: Path | None = None
    """Certificate authorities to trust, for `clickhouses://`."""


@dataclass(frozen=True, slots=True)
class RetentionSettings:
    """How long runs are kept, and how often the collector applies the policy."""

    policy: Path | None = None
    """A file of rules, read each time. Without it, the defaults."""
    every_seconds: float = 0.0
    """How often the collector deletes what is due. 0: only `retrospan retention apply` does."""


@dataclass(frozen=True, slots=True)
class PriceSettings:
    """What model calls cost."""

    table: Path | None = None
    """A file of prices of your own, which take precedence. Read at startup; it applies to what arrives from then on."""
    published: bool = True
    """Whether the prices that providers publish, as this release has them, count where the file has none."""
    kept: Path | None = field(default=None, compare=False, repr=False)
    """Where the tables of earlier starts are kept. Not a setting itself."""


@dataclass(frozen=True, slots=True)
class AlertSettings:
    """When people are told of something: docs/alerts.md."""

    rules: Path | None = None
    """A file of alert rules and of whom they tell. Read at startup. Without it, nobody is told."""
    every_seconds: float = 60.0
    """How often the rules are evaluated."""
    query_seconds: float = 10.0
    """How long evaluating one rule may take."""
    query_memory_bytes: int = 512 * MIB
    """The memory that evaluating one rule may use."""


@dataclass(frozen=True, slots=True)
class Config:
    """All settings of `retrospan serve`."""

    data: Path = Path("retrospan-data")
    """The directory where everything is kept."""
    grpc: Address = field(default_factory=lambda: Address("127.0.0.1", 4317))
    """Where OTLP over gRPC is received. Port 0 picks one."""
    http: Address = field(default_factory=lambda: Address("127.0.0.1", 4318))
    """Where OTLP over HTTP is received, with the probes."""
    sql: Address = field(default_factory=lambda: Address("127.0.0.1", 8123))
    """Where SQL over HTTP is answered."""
    jaeger: Address | None = None
    """Where Jaeger's query API is answered, as 127.0.0.1:16686. Without it, nowhere."""
    warehouse: str | None = field(default=None, repr=False)
    """A ClickHouse server, as clickhouse://user:password@host:8123/retrospan. Without it, the embedded engine."""
    role: Role = "all"
    """receive: no run is interpreted here; interpret: nothing is received here. Both take a `warehouse`."""
    tokens: Path | None = None
    """The file of tokens. Without it, anyone who can reach a port may do everything."""
    open: bool = False
    """Whether to listen without tokens on addresses that other machines can reach."""
    host_names: tuple[str, ...] = ()
    """Further host names of this collector; without tokens others are refused. `*.` stands for every name below."""
    origins: tuple[str, ...] = ()
    """Web pages that may send and query from a browser, as https://app.example. Without it, none."""
    metrics_to: str | None = None
    """A URL to send the collector's own metrics to, as OTLP over HTTP. Without it they are not sent."""
    metrics_seconds: float = 60.0
    """How often they are sent."""
    drain_seconds: float = 15.0
    """How long shutdown waits until accepted records are loaded and interpreted. The rest stays in the log."""
    tls: TlsSettings = field(default_factory=TlsSettings)
    redaction: RedactionSettings = field(default_factory=RedactionSettings)
    limits: Limits = field(default_factory=Limits)
    loader: LoaderSettings = field(default_factory=LoaderSettings)
    interpreter: InterpreterSettings = field(default_factory=InterpreterSettings)
    server: ServerSettings = field(default_factory=ServerSettings)
    retention: RetentionSettings = field(default_factory=RetentionSettings)
    prices: PriceSettings = field(default_factory=PriceSettings)
    alerts: AlertSettings = field(default_factory=AlertSettings)
    sources: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    """Where each setting was given, by its key. Not a setting itself."""

    @classmethod
    def read(
        cls,
        arguments: Mapping[str, object] | None = None,
        environ: Mapping[str, str] | None = None,
        file: Path | None = None,
    ) -> Config:
        """Build the configuration.

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
        given = given_settings(KEYS, arguments or {}, environ, file)
        config = _built(cls(), {key: _value(key, each) for key, each in given.items()})
        config.validate()
        return replace(config, sources={key: each.source for key, each in given.items()})

    def told(self) -> dict[str, str | int | float | bool | list[str]]:
        """Every setting by its key, as `read` takes them as arguments: for another process of this collector."""
        found: dict[str, str | int | float | bool | list[str]] = {}
        for key in KEYS:
            value: object = self
            for name in key.split("."):
                value = getattr(value, name)
            if isinstance(value, tuple):
                found[key] = [str(part) for part in value]
            elif value is not None:
                found[key] = value if isinstance(value, int | float) else str(value)
        return found

    def in_force(self) -> dict[str, dict[str, object]]:
        """Every setting by its key: its value, and `source`, where it came from. For people: no secret is shown."""
        told = self.told()
        return {
            key: {"value": _shown(key, told.get(key)), "source": self.sources.get(key, "default")}
            for key in KEYS
        }

    def validate(self) -> None:
        """Refuse settings that cannot work together.

        Raises:
            ConfigError: says which setting and what to do.
        """
        if self.warehouse is not None:
            parse_server(self.warehouse)
        elif self.role != "all":
            raise ConfigError(
                f"role: {self.role} needs a ClickHouse server, because an embedded warehouse belongs "
                "to one process. Name one (--warehouse clickhouse://…), or use --role all."
            )
        if self.server.cluster and not _CLUSTER.fullmatch(self.server.cluster):
            raise ConfigError(f"server.cluster: {self.server.cluster!r} is not a cluster name.")
        if self.server != ServerSettings() and self.warehouse is None:
            raise ConfigError("server: there are settings for a server, but `warehouse` does not name one.")
        if self.redaction.rules is not None and not self.redaction.enabled:
            raise ConfigError(
                f"redaction.rules: {self.redaction.rules} is set, but redaction is off. Set redaction.enabled = "
                "true, or remove the file."
            )
        self._validate_access()

    def _validate_access(self) -> None:
        reached = [
            f"{name} {address}"
            for name, address in (
                ("grpc", self.grpc),
                ("http", self.http),
                ("sql", self.sql),
                ("jaeger", self.jaeger),
            )
            if address is not None and not address.loopback
        ]
        if reached and self.tokens is None and not self.open:
            raise ConfigError(
                f"{', '.join(reached)}: reachable from other machines without tokens: anyone there could "
                "send and read everything. Name a file of tokens (--tokens FILE), or listen on 127.0.0.1, or "
                "allow this with --open (open = true)."
            )
        if (self.tls.certificate is None) != (self.tls.key is None):
            raise ConfigError("tls: tls.certificate and tls.key belong together, but one of them is missing.")
        if self.tls.client_ca is not None and self.tls.certificate is None:
            raise ConfigError("tls: tls.client_ca needs tls.certificate and tls.key.")


def is_setting(part: Field[Any]) -> bool:
    """Return whether a field of the tree is a setting, or a table of them, and not what is noted about them."""
    return part.compare


def _shown(key: str, value: object) -> object:
    """Return the value of a setting without the secrets in it."""
    if key == "server.password" and value:
        return "(not shown)"
    if key in ("warehouse", "metrics_to") and value is not None:
        parts = urlsplit(str(value))
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
    return value


def _role(value: object) -> Role:
    for role in get_args(Role):
        if value == role:
            return role  # type: ignore[no-any-return]  # get_args is untyped
    raise ValueError(f"not one of {', '.join(get_args(Role))}")


def _reader(key: str) -> Callable[[object], object]:
    files = (
        *("data", "tokens", "redaction.rules", "interpreter.rules", "retention.policy", "alerts.rules"),
        *("prices.table", "tls.certificate", "tls.key", "tls.client_ca", "server.ca"),
    )
    named: dict[str, Callable[[object], object]] = {
        **dict.fromkeys(files, parse_path),
        **dict.fromkeys(("grpc", "http", "sql", "jaeger"), as_address),
        **dict.fromkeys(("open", "redaction.enabled", "prices.published"), parse_flag),
        **dict.fromkeys(("warehouse", "metrics_to", "server.user", "server.password", "server.cluster"), str),
        "role": _role,
        "host_names": parse_host_names,
        "origins": parse_origins,
    }
    if key in named:
        return named[key]
    if key.endswith("_bytes"):
        return parse_bytes
    return parse_seconds if key.endswith("_seconds") else parse_count


def _keys(tree: object, prefix: str = "") -> list[str]:
    found: list[str] = []
    if is_dataclass(tree):
        for part in filter(is_setting, fields(tree)):
            value = getattr(tree, part.name)
            nested = is_dataclass(value) and not isinstance(value, Address)
            found += _keys(value, f"{prefix}{part.name}.") if nested else [prefix + part.name]
    return found


#: Every setting by its key, such as `limits.request_bytes`.
KEYS = tuple(_keys(Config()))


def _value(key: str, given: Given) -> object:
    try:
        return _reader(key)(given.value)
    except ValueError as error:
        raise ConfigError(f"{key} = {given.value!r} (from {given.source}): {error}. See {PAGE}.") from error


def _built(config: Config, told: Mapping[str, object]) -> Config:
    top = {key: value for key, value in told.items() if "." not in key}
    names = ("tls", "redaction", "limits", "loader", "interpreter", "server", "retention", "prices", "alerts")
    sections = {name: replace(getattr(config, name), **_section(told, f"{name}.")) for name in names}
    # Every value went through the reader of its key, so the types fit the fields.
    return replace(config, **top, **sections)  # type: ignore[arg-type]


def _section(told: Mapping[str, object], prefix: str) -> dict[str, object]:
    return {key.removeprefix(prefix): value for key, value in told.items() if key.startswith(prefix)}
