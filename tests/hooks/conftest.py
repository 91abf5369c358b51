"""The exporter's pipeline and receiver, for tests of what hooks send before their spans end."""

from exporter.conftest import pipeline, receiver

__all__ = ["pipeline", "receiver"]
