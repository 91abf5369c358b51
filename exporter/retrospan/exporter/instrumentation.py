"""`instrument()`: one call in the agent, and every span of the process goes to Retrospan.

It wires a tracer provider, delivery and the hooks of frameworks, honours every `OTEL_*` variable, and adds itself to
a provider that exists already instead of replacing it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from typing import Literal

from opentelemetry import trace
from opentelemetry.sdk import environment_variables as names
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.util.types import AttributeValue

from retrospan.exporter import hooks
from retrospan.exporter.delivery.cleaning import chosen_rules
from retrospan.exporter.delivery.notices import Counts, Tally, say
from retrospan.exporter.delivery.pipeline import Pipeline
from retrospan.exporter.delivery.transports import load_transport, made_transport
from retrospan.exporter.processor import PipelineProcessor
from retrospan.exporter.recording.ids import draw_ids_from_system
from retrospan.exporter.settings import VARIABLES, Settings
from retrospan.schemas.errors import ConfigError, MissingExtra
from retrospan.schemas.redaction.rules import Rules


class Instrumentation:
    """What `instrument()` returns: the provider, and control over delivery."""

    def __init__(self, provider: trace.TracerProvider, pipeline: Pipeline | None) -> None:
        self.provider = provider
        """Where tracers come from; also the global one, unless another was set before."""
        self._pipeline = pipeline

    @property
    def enabled(self) -> bool:
        """False if a variable (`OTEL_SDK_DISABLED`, `OTEL_TRACES_EXPORTER=none`) switched export off."""
        return self._pipeline is not None

    def flush(self, timeout: float = 30.0) -> bool:
        """Wait until every span that has ended, and all that was said, is delivered; return False if that takes more
        than `timeout` seconds.

        It blocks: in an event loop, use `await asyncio.to_thread(instrumentation.flush)`.
        """
        return self._pipeline is None or self._pipeline.flush(timeout)

    def shutdown(self, timeout: float = 5.0) -> bool:
        """Deliver waiting spans within `timeout` seconds, and stop; return True if all were delivered. Called
        automatically at exit."""
        return self._pipeline is None or self._pipeline.shutdown(timeout)

    def counts(self) -> Counts:
        """Return what became of this process's spans and log records so far."""
        if self._pipeline is None:
            return Counts(
                accepted=0,
                delivered=0,
                waiting=0,
                lost={},
                reduced=0,
                redacted_values=0,
                withheld_spans=0,
                records=Tally(accepted=0, delivered=0, waiting=0, lost={}),
            )
        return self._pipeline.counts()


_lock = threading.RLock()
_pipeline: Pipeline | None = None
_instrumentation: Instrumentation | None = None


def instrument(
    *,
    service_name: str | None = None,
    endpoint: str | None = None,
    token: str | None = None,
    headers: Mapping[str, str] | None = None,
    protocol: Literal["http/protobuf", "grpc"] | None = None,
    resource: Mapping[str, AttributeValue] | None = None,
    spool: str | os.PathLike[str] | None = None,
    redaction: str | os.PathLike[str] | Rules | None = None,
    frameworks: Literal["auto"] | Sequence[str] | None = None,
    provider: TracerProvider | None = None,
    memory_bytes: int | str | None = None,
    spool_bytes: int | str | None = None,
    alive_seconds: float | None = None,
) -> Instrumentation:
    """Send every span of this process to Retrospan. A second call changes nothing and returns the same.

    Args:
        service_name: `service.name` of the resource, if a new provider is created.
        endpoint: base URL of the collector, such as http://127.0.0.1:4318.
        token: bearer token that may send.
        headers: further headers of each request.
        protocol: http/protobuf, or grpc (needs the extra `[grpc]`).
        resource: further attributes of the resource, if a new provider is created.
        spool: directory in which spans wait on disk until they are delivered.
        redaction: `secrets`, `all` (personal data too), `off`, a rules file, or rules.
        frameworks: names of frameworks whose hooks are installed; `auto`: of those that the process imports; an
            empty list: of none.
        provider: the provider to add to, instead of the global one.
        memory_bytes: what spans that wait may take in memory.
        spool_bytes: what the spool's directory may hold.
        alive_seconds: how often the process says that it is alive while a span is open; 0: never.

    What is not given here comes from variables: docs/exporter.md lists them.

    Raises:
        ConfigError: an argument cannot be used.
        MissingExtra: protocol="grpc" without grpcio.
    """
    global _instrumentation
    with _lock:
        if _instrumentation is not None:
            return _instrumentation
        if resource is not None and not isinstance(resource, Mapping):
            raise ConfigError(f"resource={resource!r}: a mapping of names to values is expected.")
        arguments = {
            "endpoint": endpoint,
            "token": token,
            "headers": headers,
            "protocol": protocol,
            "spool": spool,
            "memory_bytes": memory_bytes,
            "spool_bytes": spool_bytes,
            "alive_seconds": alive_seconds,
        }
        zero_code = _pipeline is not None
        pipeline = current_pipeline(arguments, redaction)
        chosen = _provider(provider, service_name, resource or {}, pipeline)
        if pipeline is not None:
            pipeline.resource = getattr(chosen, "resource", pipeline.resource)
            if not zero_code:
                chosen = _attach(chosen, pipeline)
            pipeline.start_ahead()
            hooks.install(hooks.chosen(frameworks, os.environ.get(VARIABLES["frameworks"])))
        _instrumentation = Instrumentation(chosen, pipeline)
        return _instrumentation


def current_pipeline(
    arguments: Mapping[str, object],
    redaction: str | os.PathLike[str] | Rules | None = None,
    *,
    behind_batches: bool = False,
) -> Pipeline | None:
    """Return the process's only pipeline, created on the first call; None if export is switched off.

    Raises ConfigError and MissingExtra for arguments only.
    """
    global _pipeline
    with _lock:
        if _pipeline is not None or _switched_off(os.environ):
            return _pipeline
        settings = Settings.read(arguments, os.environ, say)
        rules = _rules(redaction, settings)
        try:
            # Loaded here, on the agent's start, and not later beside its work.
            load_transport(settings)
        except MissingExtra as error:
            if arguments.get("protocol") is not None:
                raise
            say(f"{error} Until then no spans are sent.")
            return None
        _pipeline = Pipeline(settings, rules, lambda: made_transport(settings), behind_batches=behind_batches)
        return _pipeline


def _switched_off(environ: Mapping[str, str]) -> bool:
    if environ.get(names.OTEL_SDK_DISABLED, "").strip().lower() == "true":
        return True
    return environ.get("OTEL_TRACES_EXPORTER", "").strip().lower() == "none"


def _rules(redaction: str | os.PathLike[str] | Rules | None, settings: Settings) -> Rules | None:
    if redaction is not None:
        return chosen_rules(redaction)
    try:
        return chosen_rules(settings.redaction)
    except ConfigError as error:
        # Closed rather than open: what the file would have taken out may be what these take out.
        say(f"{VARIABLES['redaction']}: {error} All built-in rules are applied instead.")
        return Rules.builtin()


def _provider(
    given: TracerProvider | None,
    service_name: str | None,
    attributes: Mapping[str, AttributeValue],
    pipeline: Pipeline | None,
) -> trace.TracerProvider:
    """Return the provider to add to: the one given, the global one, or a new one that becomes the global one."""
    if given is not None:
        return given
    existing = trace.get_tracer_provider()
    if not isinstance(existing, trace.ProxyTracerProvider) or pipeline is None:
        return existing
    named = {"service.name": service_name} if service_name else {}
    made = TracerProvider(
        resource=_resource({**attributes, **named}),
        sampler=None if os.environ.get(names.OTEL_TRACES_SAMPLER) else ALWAYS_ON,
        span_limits=_limits(os.environ),
    )
    trace.set_tracer_provider(made)
    return made


def _resource(attributes: Mapping[str, AttributeValue]) -> Resource:
    """Return the resource of a new provider. The SDK asks its detectors in threads of their own: where the system has
    none to give, what the variables say is the resource.
    """
    try:
        return Resource.create(attributes)
    except Exception as error:  # noqa: BLE001
        say(f"the resource could not be detected ({type(error).__name__}: {error}): it is what was given.")
        plain = Resource({"telemetry.sdk.language": "python", "service.name": "unknown_service"})
        return plain.merge(OTELResourceDetector().detect()).merge(Resource(attributes))


def _attach(provider: trace.TracerProvider, pipeline: Pipeline) -> trace.TracerProvider:
    add = getattr(provider, "add_span_processor", None)
    if add is None:
        say(
            f"the tracer provider that is set ({type(provider).__module__}.{type(provider).__qualname__}) does not "
            "accept span processors: its spans are not sent. Call instrument() before it is set, or give provider=."
        )
    else:
        draw_ids_from_system(provider)
        add(PipelineProcessor(pipeline))
    return provider


def _limits(environ: Mapping[str, str]) -> SpanLimits:
    """Return no limits except those set by variables: what is cut off in the agent is lost for good."""

    def limit(*variables: str) -> int | None:
        return None if any(variable in environ for variable in variables) else SpanLimits.UNSET

    count, length = names.OTEL_ATTRIBUTE_COUNT_LIMIT, names.OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT
    try:
        return SpanLimits(
            max_attributes=limit(count),
            max_events=limit(names.OTEL_SPAN_EVENT_COUNT_LIMIT),
            max_links=limit(names.OTEL_SPAN_LINK_COUNT_LIMIT),
            max_span_attributes=limit(names.OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT, count),
            max_event_attributes=limit(names.OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT, count),
            max_link_attributes=limit(names.OTEL_LINK_ATTRIBUTE_COUNT_LIMIT, count),
            max_attribute_length=limit(length),
            max_span_attribute_length=limit(names.OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT, length),
        )
    except ValueError as error:
        say(f"an OpenTelemetry limit is invalid: {error}. No limits apply.")
        unset = SpanLimits.UNSET
        return SpanLimits(unset, unset, unset, unset, unset, unset, unset, unset)
