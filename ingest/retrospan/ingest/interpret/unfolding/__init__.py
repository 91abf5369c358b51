"""Spans that tell several acts, and acts that no span of their own tells: each becomes a span."""
