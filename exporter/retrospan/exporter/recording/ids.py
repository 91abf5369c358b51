"""Ids of traces and spans that a program's random numbers do not decide.

The SDK draws them from the module `random`. A program that seeds that, as many do so that runs can be compared, gives all
its executions the same ids, and each would take the place of the one before. So do processes that a server forks
without Python's knowledge, as uWSGI does.
"""

from __future__ import annotations

from os import urandom

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator

_TRACE_BYTES, _SPAN_BYTES = 16, 8


class SystemIds(RandomIdGenerator):
    """Draws from the operating system."""

    def generate_trace_id(self) -> int:
        """Return a new trace id, never 0."""
        return _drawn(_TRACE_BYTES)

    def generate_span_id(self) -> int:
        """Return a new span id, never 0."""
        return _drawn(_SPAN_BYTES)


def draw_ids_from_system(provider: object) -> None:
    """Have the tracers that a provider makes from now on draw so, if it is the SDK's with the SDK's own generator."""
    if isinstance(provider, TracerProvider) and type(provider.id_generator) is RandomIdGenerator:
        provider.id_generator = SystemIds()


def _drawn(size: int) -> int:
    while not (number := int.from_bytes(urandom(size), "big")):
        pass
    return number
