"""What `opentelemetry-instrument` loads when `OTEL_TRACES_EXPORTER` names retrospan: no line of the agent changes.

OpenTelemetry's configurator loads this module before it creates the tracer provider, and only if it was
requested by name. The limits of a provider that someone else creates can be raised only by variables, so
variables that are not set are set here.
"""

from __future__ import annotations

import os

from opentelemetry import trace
from opentelemetry.sdk import environment_variables as names
from opentelemetry.sdk.trace import TracerProvider

from retrospan.exporter import hooks
from retrospan.exporter.instrumentation import current_pipeline
from retrospan.exporter.operating_system import variables_at_start
from retrospan.exporter.processor import PipelineExporter, PipelineProcessor
from retrospan.exporter.recording.ids import draw_ids_from_system
from retrospan.exporter.settings import VARIABLES

_NO_LIMIT = str(2**31 - 1)
_RAISED = {
    names.OTEL_ATTRIBUTE_COUNT_LIMIT: _NO_LIMIT,
    names.OTEL_SPAN_EVENT_COUNT_LIMIT: _NO_LIMIT,
    names.OTEL_SPAN_LINK_COUNT_LIMIT: _NO_LIMIT,
    # The batch processor in front hands spans over as fast as it can; it must not drop any before.
    names.OTEL_BSP_MAX_QUEUE_SIZE: "16384",
    names.OTEL_BSP_SCHEDULE_DELAY: "500",
    names.OTEL_TRACES_SAMPLER: "always_on",
}

for _name, _value in _RAISED.items():
    os.environ.setdefault(_name, _value)


# OpenTelemetry's distro puts `grpc` where nothing is set. Where the system does not tell what was, its `grpc` is not
# followed: the variables that the distro leaves alone say it as well.
if names.OTEL_EXPORTER_OTLP_PROTOCOL not in (variables_at_start() or ()):
    os.environ.setdefault(
        VARIABLES["protocol"], os.environ.get(names.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL) or "http/protobuf"
    )


class Exporter(PipelineExporter):
    """The entry point `retrospan` of `opentelemetry_traces_exporter`. Settings come from variables.

    Where the provider that it is created for is the global one already, as OpenTelemetry's configurator has it, a
    processor of ours gets the spans, when they begin and when they end; what comes out of the batch processor, which is
    the same, is left. Elsewhere the batch processor's spans are sent, and nothing is known of them before.
    """

    def __init__(self) -> None:
        pipeline = current_pipeline({}, behind_batches=True)
        provider = trace.get_tracer_provider()
        watches = pipeline is not None and isinstance(provider, TracerProvider)
        super().__init__(None if watches else pipeline)
        if pipeline is not None:
            if isinstance(provider, TracerProvider):
                pipeline.resource = provider.resource
                draw_ids_from_system(provider)
                provider.add_span_processor(PipelineProcessor(pipeline))
            pipeline.start_ahead()
            hooks.install(hooks.chosen(None, os.environ.get(VARIABLES["frameworks"])))
