"""What runs inside the agent's process: recording of state, redaction, the exporter. A guest there, so it loads
nothing but the standard library, OpenTelemetry and `retrospan.schemas`.

This release needs nothing of it: any OpenTelemetry instrumentation with an OTLP exporter already reaches the
collector.
"""
