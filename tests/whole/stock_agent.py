"""A program that knows OpenTelemetry and nothing of Retrospan; run by a test as a process of its own.

Arguments: grpc or http, the endpoint. Exits 0 once its export was acknowledged.
"""

from __future__ import annotations

import json
import sys

from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter

protocol, endpoint = sys.argv[1:]
exporter: SpanExporter
if protocol == "grpc":
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as Grpc

    exporter = Grpc(endpoint=endpoint, insecure=True)
else:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as Http

    exporter = Http(endpoint=f"http://{endpoint}/v1/traces")

provider = TracerProvider(resource=Resource({"service.name": "stock"}))
provider.add_span_processor(BatchSpanProcessor(exporter))
trace.set_tracer_provider(provider)
tracer = trace.get_tracer("stock.agent")
with (
    tracer.start_as_current_span("invoke_agent stock") as agent,
    tracer.start_as_current_span("chat gpt-4o-mini") as chat,
):
    agent.set_attributes({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": f"stock-{protocol}"})
    chat.set_attributes(
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "openai",
            "gen_ai.request.model": "gpt-4o-mini",
            "gen_ai.usage.input_tokens": 7,
            "gen_ai.input.messages": json.dumps(
                [{"role": "user", "parts": [{"type": "text", "content": "Hi"}]}]
            ),
            "gen_ai.output.messages": json.dumps(
                [{"role": "assistant", "parts": [{"type": "text", "content": "Ho"}]}]
            ),
        }
    )
sys.exit(0 if provider.force_flush(10_000) else 1)
