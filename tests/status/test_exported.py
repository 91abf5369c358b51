"""OpenTelemetry metrics of the collector's own: sent on request, to anybody but itself, at no cost to intake."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from fix_collector import Served
from fix_recordings import Recording
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from retrospan.ingest.settings.config import Config
from retrospan.ingest.settings.metrics_target import endpoint, require_foreign
from retrospan.ingest.settings.setting_values import Address
from retrospan.ingest.status.metrics import METRICS
from retrospan.schemas.errors import ConfigError

LOOP = "genai-openai.span_and_event/loop"
# The others are of a process that only interprets.
OF_A_COLLECTOR = [metric for metric in METRICS if metric.part != "share"]


class Target(ThreadingHTTPServer):
    """Takes metrics as any OTLP/HTTP receiver does, or answers `status`."""

    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        self.status = 200
        self.taken: list[ExportMetricsServiceRequest] = []
        self.paths: set[str] = set()
        super().__init__(("127.0.0.1", port), Post)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def values(self) -> dict[str, float]:
        """The numbers of the last export by name."""
        if not self.taken:
            return {}
        (resource,) = self.taken[-1].resource_metrics
        (scope,) = resource.scope_metrics
        found: dict[str, float] = {}
        for metric in scope.metrics:
            (point,) = (metric.sum if metric.HasField("sum") else metric.gauge).data_points
            found[metric.name] = point.as_double if point.HasField("as_double") else point.as_int
        return found


class Post(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        server = self.server
        assert isinstance(server, Target)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        server.paths.add(self.path)
        if server.status == 200:
            server.taken.append(ExportMetricsServiceRequest.FromString(body))
        self.send_response(server.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@pytest.fixture
def target() -> Iterator[Target]:
    with Target() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def sending(tmp_path: Path, url: str) -> Served:
    """A collector that sends its metrics there five times a second."""
    settings = tmp_path / "collector.toml"
    settings.write_text("metrics_seconds = 0.2\n", encoding="utf-8")
    return Served(tmp_path / "data", tmp_path / "stderr.txt", "--config", str(settings), "--metrics-to", url)


@pytest.mark.long
def test_every_metric_of_the_table_is_sent(
    tmp_path: Path, target: Target, recordings: dict[str, Recording]
) -> None:
    served = sending(tmp_path, target.url)
    try:
        served.send(recordings[LOOP].traces, recordings[LOOP].logs)
        served.wait_idle()
        requests = len(recordings[LOOP].traces) + len(recordings[LOOP].logs)
        served.until(lambda: target.values().get("retrospan.loaded_sequence") == requests)
        values = target.values()
        assert set(values) == {metric.otel_name for metric in OF_A_COLLECTOR}
        assert values["retrospan.intake.requests"] == requests
        assert values["retrospan.intake.spans_acknowledged"] == values["retrospan.intake.spans_received"] > 0
        assert values["retrospan.healthy"] == 1
        assert target.paths == {"/v1/metrics"}
        units = {
            metric.name: metric.unit
            for metric in target.taken[-1].resource_metrics[0].scope_metrics[0].metrics
        }
        assert units == {metric.otel_name: metric.unit for metric in OF_A_COLLECTOR}
        names = {
            attribute.key: attribute.value.string_value
            for attribute in target.taken[-1].resource_metrics[0].resource.attributes
        }
        assert names["service.name"] == "retrospan"
        assert served.stop() == 0
    finally:
        served.kill()


@pytest.mark.long
def test_a_target_that_refuses_is_reported_once_and_disturbs_nothing(
    tmp_path: Path, target: Target, recordings: dict[str, Recording]
) -> None:
    target.status = 404
    served = sending(tmp_path, target.url)
    try:
        served.send(recordings[LOOP].traces, recordings[LOOP].logs)
        served.wait_idle()
        served.until(lambda: "metrics cannot be sent" in served.stderr())
        assert served.health()["status"] == "ok"
        target.status = 200
        served.until(lambda: "again" in served.stderr() and bool(target.taken))
        assert served.stderr().count("metrics cannot be sent") == 1
        assert f"cannot be sent to {target.url}/v1/metrics" in served.stderr() and "404" in served.stderr()
        assert served.stop() == 0
    finally:
        served.kill()


@pytest.mark.long
def test_a_target_that_is_away_holds_up_neither_intake_nor_the_end(
    tmp_path: Path, recordings: dict[str, Recording]
) -> None:
    with Target() as gone:
        url = gone.url
    served = sending(tmp_path, url)
    try:
        served.send(recordings[LOOP].traces)
        served.wait_idle()
        served.until(lambda: "metrics cannot be sent" in served.stderr())
        assert len(served.rows("SELECT run_id FROM runs")) == 1
        started = time.monotonic()
        assert served.stop() == 0
        assert time.monotonic() - started < 60  # it gives up by itself, and does not wait for the target
    finally:
        served.kill()


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:4318",
        "http://localhost:4317/v1/metrics",
        "http://[::1]:8123",
        "http://127.1.2.3:4318",
    ],
)
def test_a_port_of_its_own_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="own port"):
        require_foreign(Config(metrics_to=url))
    everywhere = Config(metrics_to=url, http=Address("0.0.0.0", 4318), open=True)
    with pytest.raises(ConfigError, match="own port"):
        require_foreign(everywhere)


@pytest.mark.parametrize(
    "url", ["collector:4318", "ftp://x:1", "http://", "http://a:99999999", "http://me:secret@h:1"]
)
def test_what_is_not_a_url_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(ConfigError, match="is not a URL") as refused:
        require_foreign(Config(metrics_to=url))
    assert "secret" not in str(refused.value)


def test_other_collectors_are_not_refused() -> None:
    require_foreign(Config())
    require_foreign(Config(metrics_to="http://collector.example:4318"))
    require_foreign(Config(metrics_to="http://127.0.0.1:9090/otlp/v1/metrics"))
    with pytest.raises(ConfigError, match="not an interval"):
        require_foreign(Config(metrics_to="http://127.0.0.1:9090", metrics_seconds=0))


def test_a_path_is_kept_and_a_missing_one_added() -> None:
    assert endpoint("http://h:1") == endpoint("http://h:1/") == "http://h:1/v1/metrics"
    assert endpoint("http://h:1/otlp/v1/metrics") == "http://h:1/otlp/v1/metrics"
