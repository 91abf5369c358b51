"""The collector's own metrics as OpenTelemetry metrics, sent over OTLP/HTTP to where the configuration says.

Off unless asked for. It runs in a thread of the SDK's and reads the same table as `/metrics`; a target that is away,
slow or refuses costs nothing but a line when that begins and one when it ends.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterable

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import (
    MetricExporter,
    MetricExportResult,
    MetricsData,
    PeriodicExportingMetricReader,
)
from opentelemetry.sdk.resources import Resource

from retrospan.ingest.settings.metrics_target import endpoint
from retrospan.ingest.status.metrics import METRICS, Metric, Records

#: The longest one export takes, with its repetitions; the end of the collector waits no longer either.
SEND_SECONDS = 5.0
#: Numbers of one export are of one moment.
_SAME_SECONDS = 0.5
_SDK_LOG = "opentelemetry.exporter.otlp.proto.http.metric_exporter"


class ExportedMetrics:
    """Sends until `stop`. Made once in a process: the SDK's own warnings about the exporter are taken over."""

    def __init__(
        self,
        target: str,
        seconds: float,
        records: Callable[[], Records],
        log_event: Callable[[str], None],
        release: str,
    ) -> None:
        """`target` is a URL; without a path `/v1/metrics` is added. `records` is called once per export."""
        self._records = records
        self._reading = threading.Lock()
        self._read: Records = {}
        self._read_at = float("-inf")
        self._ended = False
        exporter = _Watched(endpoint(target), log_event)
        reader = PeriodicExportingMetricReader(exporter, seconds * 1000, SEND_SECONDS * 1000)
        resource = Resource(
            {
                "service.name": "retrospan",
                "service.version": release,
                "service.instance.id": str(uuid.uuid4()),
            }
        )
        self._provider = MeterProvider([reader], resource, shutdown_on_exit=False)
        meter = self._provider.get_meter("retrospan", release)
        for metric in METRICS:
            create = (
                meter.create_observable_counter if metric.kind == "counter" else meter.create_observable_gauge
            )
            create(metric.otel_name, [self._observed(metric)], metric.unit, metric.meaning)

    def stop(self) -> None:
        """Send once more and end, within `SEND_SECONDS`; afterwards `records` is not called again."""
        self._provider.shutdown(SEND_SECONDS * 1000)
        with self._reading:
            # A target that hangs may keep the SDK's thread beyond that, and it reads once more when it goes on.
            self._ended = True

    def _observed(self, metric: Metric) -> Callable[[CallbackOptions], Iterable[Observation]]:
        def observe(_: CallbackOptions) -> Iterable[Observation]:
            records = self._now()
            return [Observation(metric.value(records))] if metric.part in records else []

        return observe

    def _now(self) -> Records:
        with self._reading:
            if not self._ended and time.monotonic() - self._read_at > _SAME_SECONDS:
                self._read = self._records()
                self._read_at = time.monotonic()
            return self._read


class _Watched(MetricExporter):
    """The SDK's exporter, with what goes wrong said once."""

    def __init__(self, url: str, log_event: Callable[[str], None]) -> None:
        self._exporter = OTLPMetricExporter(url, timeout=SEND_SECONDS)
        super().__init__(self._exporter._preferred_temporality, self._exporter._preferred_aggregation)
        self._url = url
        self._log_event = log_event
        self._fails = False
        self._reason = _Reason()
        log = logging.getLogger(_SDK_LOG)
        log.propagate = False
        log.handlers = [self._reason]

    def export(
        self, metrics_data: MetricsData, timeout_millis: float = 10_000, **kwargs: object
    ) -> MetricExportResult:
        self._reason.text = ""
        result = self._exporter.export(metrics_data, timeout_millis)
        fails = result is not MetricExportResult.SUCCESS
        if fails and not self._fails:
            why = self._reason.text or "no reason given"
            self._log_event(
                f"metrics cannot be sent to {self._url}: {why}. Nothing else depends on it; it will be retried"
            )
        elif self._fails and not fails:
            self._log_event(f"metrics are sent to {self._url} again")
        self._fails = fails
        return result

    def force_flush(self, timeout_millis: float = 10_000) -> bool:
        return self._exporter.force_flush(timeout_millis)

    def shutdown(self, timeout_millis: float = 30_000, **kwargs: object) -> None:
        self._exporter.shutdown(timeout_millis)


class _Reason(logging.Handler):
    """Keeps what the SDK's exporter said last."""

    text = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.text = record.getMessage()[:300]
