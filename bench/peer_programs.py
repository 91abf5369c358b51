"""The programs that `bench.peers` compares: how each is started, where it takes spans, and how it is asked for them.

Each runs as its own documentation has it for one machine, with a durable store in a directory, and with what it would
drop by default (old spans, large requests) allowed.
"""

from __future__ import annotations

import json
import sys
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

_TIMEOUT_SECONDS = 60.0
#: More than a request of a hundred spans takes, which some refuse from 4 MiB on.
_MOST_BYTES = 64 << 20
_MINUTE_NS = 60 * 10**9


@dataclass(frozen=True, slots=True)
class Ports:
    """Free ports of this machine: where OTLP is taken, where questions are answered, and two for whatever else."""

    otlp: int
    asked: int
    spare: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Sought:
    """A run of the load: its trace, its spans, the service, an attribute that no other run has, and its time in ns."""

    trace_id: str
    spans: int
    service: str
    conversation: str
    began: int
    ended: int


class Program(Protocol):
    """A program that takes spans and gives them back."""

    @property
    def name(self) -> str: ...

    @property
    def protocol(self) -> str:
        """How spans are sent, as `bench.client` names it."""
        ...

    def words(self, data: Path, ports: Ports) -> list[str]:
        """Return the command that serves a directory; writes the configuration that it needs beside it."""
        ...

    def address(self, ports: Ports) -> str:
        """Return where spans are sent to."""
        ...

    def is_ready(self, ports: Ports) -> bool:
        """Whether it answers questions."""
        ...

    def spans(self, ports: Ports, run: Sought) -> int:
        """Return how many spans of a run its trace has by now."""
        ...

    def find(self, ports: Ports, run: Sought) -> list[str]:
        """Return the traces with a span that has the run's conversation."""
        ...


def get(port: int, path: str, query: Mapping[str, str | int] | None = None, body: bytes | None = None) -> Any:
    """Return the JSON values that a program answers, one or one a line; None if it does not, or not yet."""
    words = f"?{urllib.parse.urlencode(query)}" if query else ""
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}{words}", body, {"Accept": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as reply:
            text = reply.read()
    except OSError:
        return None
    try:
        return [json.loads(text)]
    except ValueError:
        return [json.loads(line) for line in text.splitlines() if line]


def answers(port: int, path: str) -> bool:
    """Whether there is an answer, whatever it says."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=_TIMEOUT_SECONDS):
            return True
    except OSError:
        return False


def spans_of_jaeger(answer: Any) -> int:
    """Return how many spans a trace has, as Jaeger says it; a span that is listed twice is one."""
    traces = [trace for one in answer or () for trace in one.get("data") or ()]
    return len({span["spanID"] for trace in traces for span in trace["spans"]})


def spans_of_otlp(answer: Any) -> list[Mapping[str, str]]:
    """Return the spans in OTLP's JSON, as Tempo answers it and Jaeger's newer API."""
    said = [one.get("result", one) for one in answer or ()]
    groups = [group for one in said for group in one.get("batches") or one.get("resourceSpans") or ()]
    return [span for group in groups for scope in group["scopeSpans"] for span in scope["spans"]]


class Retrospan:
    """What this repository holds."""

    name, protocol = "Retrospan", "grpc"

    def words(self, data: Path, ports: Ports) -> list[str]:
        return [
            *(sys.executable, "-m", "retrospan.ingest.cli.main", "serve", "--data", str(data)),
            *("--grpc", f"127.0.0.1:{ports.otlp}", "--http", f"127.0.0.1:{ports.spare[0]}"),
            *("--sql", f"127.0.0.1:{ports.asked}"),
        ]

    def address(self, ports: Ports) -> str:
        return f"127.0.0.1:{ports.otlp}"

    def is_ready(self, ports: Ports) -> bool:
        return self._ask(ports, "SELECT 1") == [[1]]

    def spans(self, ports: Ports, run: Sought) -> int:
        found = self._ask(ports, f"SELECT count() FROM spans WHERE trace_id = '{run.trace_id}'")
        return int(found[0][0]) if found else 0

    def find(self, ports: Ports, run: Sought) -> list[str]:
        where = f"attributes['gen_ai.conversation.id'] = '{run.conversation}'"
        return [
            row[0] for row in self._ask(ports, f"SELECT DISTINCT trace_id FROM spans WHERE {where}") or ()
        ]

    def _ask(self, ports: Ports, query: str) -> list[list[Any]] | None:
        found: list[list[Any]] | None = get(
            ports.asked, "/", {"default_format": "JSONCompactEachRow"}, query.encode()
        )
        return found


@dataclass(frozen=True, slots=True)
class VictoriaTraces:
    """`go build ./app/victoria-traces`. Takes OTLP over HTTP only; answers as Jaeger's older API does."""

    program: Path
    name: str = "VictoriaTraces"
    protocol: str = "http"

    def words(self, data: Path, ports: Ports) -> list[str]:
        return [
            *(str(self.program), f"-storageDataPath={data}", f"-httpListenAddr=127.0.0.1:{ports.asked}"),
            "-retentionPeriod=10y",
        ]

    def address(self, ports: Ports) -> str:
        return f"127.0.0.1:{ports.asked}/insert/opentelemetry/v1/traces"

    def is_ready(self, ports: Ports) -> bool:
        return answers(ports.asked, "/health")

    def spans(self, ports: Ports, run: Sought) -> int:
        return spans_of_jaeger(get(ports.asked, f"/select/jaeger/api/traces/{run.trace_id}"))

    def find(self, ports: Ports, run: Sought) -> list[str]:
        query: dict[str, str | int] = {
            "service": run.service,
            "tags": json.dumps({"gen_ai.conversation.id": run.conversation}),
            "start": (run.began - _MINUTE_NS) // 1000,
            "end": (run.ended + _MINUTE_NS) // 1000,
            "limit": 20,
        }
        found = get(ports.asked, "/select/jaeger/api/traces", query)
        return [trace["traceID"] for one in found or () for trace in one.get("data") or ()]


@dataclass(frozen=True, slots=True)
class Jaeger:
    """`go build ./cmd/jaeger`, with Badger as its store."""

    program: Path
    name: str = "Jaeger, Badger"
    protocol: str = "grpc"

    def words(self, data: Path, ports: Ports) -> list[str]:
        config = data.with_suffix(".yaml")
        here = "127.0.0.1"
        settings = {
            "service": {
                "extensions": ["jaeger_storage", "jaeger_query"],
                "pipelines": {"traces": {"receivers": ["otlp"], "exporters": ["jaeger_storage_exporter"]}},
                "telemetry": {"metrics": {"level": "none"}, "logs": {"level": "warn"}},
            },
            "extensions": {
                "jaeger_query": {
                    "storage": {"traces": "kept"},
                    "http": {"endpoint": f"{here}:{ports.asked}"},
                    "grpc": {"endpoint": f"{here}:{ports.spare[0]}"},
                },
                "jaeger_storage": {
                    "backends": {
                        "kept": {
                            "badger": {
                                "directories": {"keys": f"{data}/keys", "values": f"{data}/values"},
                                "ephemeral": False,
                                "ttl": {"spans": "87600h"},
                            }
                        }
                    }
                },
            },
            "receivers": {
                "otlp": {
                    "protocols": {
                        "grpc": {
                            "endpoint": f"{here}:{ports.otlp}",
                            "max_recv_msg_size_mib": _MOST_BYTES >> 20,
                        }
                    }
                }
            },
            "exporters": {"jaeger_storage_exporter": {"trace_storage": "kept"}},
        }
        config.write_text(json.dumps(settings), encoding="utf-8")  # which is YAML as well
        return [str(self.program), "--config", str(config)]

    def address(self, ports: Ports) -> str:
        return f"127.0.0.1:{ports.otlp}"

    def is_ready(self, ports: Ports) -> bool:
        return answers(ports.asked, "/api/v3/services")

    def spans(self, ports: Ports, run: Sought) -> int:
        found = spans_of_otlp(get(ports.asked, f"/api/v3/traces/{run.trace_id}"))
        return len({span["spanId"] for span in found})

    def find(self, ports: Ports, run: Sought) -> list[str]:
        query: dict[str, str | int] = {
            "query.serviceName": run.service,
            "query.attributes": json.dumps({"gen_ai.conversation.id": run.conversation}),
            "query.startTimeMin": _time(run.began - _MINUTE_NS),
            "query.startTimeMax": _time(run.ended + _MINUTE_NS),
            "query.searchDepth": 20,
        }
        return [*{span["traceId"] for span in spans_of_otlp(get(ports.asked, "/api/v3/traces", query))}]


@dataclass(frozen=True, slots=True)
class Tempo:
    """`go build ./cmd/tempo`: everything in one process, blocks in a directory."""

    program: Path
    name: str = "Tempo"
    protocol: str = "grpc"

    def words(self, data: Path, ports: Ports) -> list[str]:
        config = data.with_suffix(".yaml")
        otlp = {"grpc": {"endpoint": f"127.0.0.1:{ports.otlp}", "max_recv_msg_size_mib": _MOST_BYTES >> 20}}
        settings = {
            "server": {
                "http_listen_address": "127.0.0.1",
                "http_listen_port": ports.asked,
                "grpc_listen_address": "127.0.0.1",
                "grpc_listen_port": ports.spare[0],
                "grpc_server_max_recv_msg_size": _MOST_BYTES,
                "grpc_server_max_send_msg_size": _MOST_BYTES,
                "log_level": "warn",
            },
            "distributor": {"receivers": {"otlp": {"protocols": otlp}}, "max_attribute_bytes": _MOST_BYTES},
            "memberlist": {"bind_addr": ["127.0.0.1"], "bind_port": ports.spare[1]},
            "live_store": {
                "wal": {"path": f"{data}/live"},
                "shutdown_marker_dir": f"{data}/marker",
            },
            "backend_scheduler": {"local_work_path": f"{data}/work"},
            "block_builder": {"wal": {"path": f"{data}/built"}},
            "storage": {
                "trace": {
                    "backend": "local",
                    "wal": {"path": f"{data}/wal"},
                    "local": {"path": f"{data}/blocks"},
                }
            },
            "overrides": {
                "defaults": {
                    "ingestion": {
                        "rate_limit_bytes": 1 << 30,
                        "burst_size_bytes": 1 << 30,
                        "max_traces_per_user": 0,
                    },
                    "global": {"max_bytes_per_trace": 0},
                }
            },
            "usage_report": {"reporting_enabled": False},
        }
        config.write_text(json.dumps(settings), encoding="utf-8")
        return [str(self.program), f"-config.file={config}"]

    def address(self, ports: Ports) -> str:
        return f"127.0.0.1:{ports.otlp}"

    def is_ready(self, ports: Ports) -> bool:
        return answers(ports.asked, "/ready")

    def spans(self, ports: Ports, run: Sought) -> int:
        found = spans_of_otlp(get(ports.asked, f"/api/traces/{run.trace_id}"))
        return len({span["spanId"] for span in found})

    def find(self, ports: Ports, run: Sought) -> list[str]:
        query: dict[str, str | int] = {
            "q": f'{{ span."gen_ai.conversation.id" = "{run.conversation}" }}',
            "start": (run.began - _MINUTE_NS) // 10**9,
            "end": (run.ended + _MINUTE_NS) // 10**9,
        }
        found = get(ports.asked, "/api/search", query)
        return [trace["traceID"].zfill(32) for one in found or () for trace in one.get("traces") or ()]


def _time(nanoseconds: int) -> str:
    return datetime.fromtimestamp(nanoseconds // 10**9, UTC).isoformat().replace("+00:00", "Z")


def programs(paths: Mapping[str, Path | None]) -> Sequence[Program]:
    """Return Retrospan, and the others whose program is named."""
    made: dict[str, Callable[[Path], Program]] = {
        "victoria_traces": VictoriaTraces,
        "jaeger": Jaeger,
        "tempo": Tempo,
    }
    return [Retrospan(), *(made[name](path) for name, path in paths.items() if path is not None)]
