"""Agents that run in a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

from exporter.receiver import Receiver

#: Begins a program: makes a span.
SPAN = """
from opentelemetry import trace
def span(name, **values):
    with trace.get_tracer("agent").start_as_current_span(name) as made:
        made.set_attributes(values)
"""


def agent(code: str, receiver: Receiver | None = None, **environ: str) -> subprocess.Popen[str]:
    """An agent that runs this code; it speaks to the receiver."""
    clean = {
        name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "RETROSPAN_"))
    }
    if receiver is not None:
        clean["OTEL_EXPORTER_OTLP_ENDPOINT"] = receiver.url.removesuffix("/v1/traces")
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**clean, **environ},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(process: subprocess.Popen[str], code: int = 0) -> tuple[str, str]:
    out, err = process.communicate(timeout=300)
    assert process.returncode == code, err
    return out, err
