"""The programs on the pages, run as they stand with a stock exporter, give the answers that the pages promise."""

from __future__ import annotations

import subprocess
import sys

import pytest
from docs.pages import PAGES
from fix_collector import Served

#: What the pages leave to the reader: a provider that sends, and its end.
_BEFORE = """
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
"""
_AFTER = "\nprovider.shutdown()\n"


def example(name: str, marker: str) -> str:
    """The block of Python on a page that holds the marker."""
    (found,) = [
        text
        for page in PAGES
        if page.name == name
        for language, text in page.blocks
        if language == "python" and marker in text
    ]
    return found


def run(served: Served, program: str, before: str = _BEFORE, after: str = _AFTER) -> None:
    """Run a program in a process of its own that exports to the collector."""
    done = subprocess.run(
        [sys.executable, "-c", before + program + after],
        env={"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{served.http}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Failed to export" not in done.stderr


@pytest.mark.long
def test_the_example_of_the_conventions_shows_its_state(served: Served) -> None:
    run(served, example("docs/conventions.md", "retrospan.state.before"))
    served.until(lambda: len(served.rows("SELECT run_id FROM runs")) == 1)
    (step,) = served.rows("SELECT run_id, step, step_kind, name, task_step, task_step_name FROM steps")
    assert (step["step"], step["step_kind"], step["name"]) == (1, "step", "collect order")
    assert (step["task_step"], step["task_step_name"]) == (1, "collect order")
    query = "SELECT key, value FROM run_state(run_id = {run:String}, step = {step:UInt32}) ORDER BY key"
    before = {row["key"]: row["value"] for row in served.rows(query, run=step["run_id"], step=1)}
    after = {row["key"]: row["value"] for row in served.rows(query, run=step["run_id"], step=0)}
    assert before == {"customer": '"C-1042"', "order": "null"}
    assert after == {"customer": '"C-1042"', "order": '"A-17"'}


def test_the_spans_around_the_loop_make_one_run_with_its_tools(served: Served) -> None:
    program = example("docs/instrumentation.md", "execute_tool {name}")
    call = 'run_tool("call_1", "add", {"a": 1, "b": 2}, lambda a, b: a + b)'
    assert "    ..." in program
    run(served, program.replace("    ...", f"    {call}"))
    served.until(lambda: len(served.rows("SELECT run_id FROM runs")) == 1)
    (found,) = served.rows("SELECT agent_name, outcome, toUInt32(tool_calls) AS tools FROM runs")
    assert found == {"agent_name": "support", "outcome": "ok", "tools": 1}
    (tool,) = served.rows("SELECT tool_name, tool_call_id, arguments, result, status FROM tool_calls")
    assert (tool["tool_name"], tool["tool_call_id"], tool["status"]) == ("add", "call_1", "ok")
    assert (tool["arguments"], tool["result"]) == ('{"a":1,"b":2}', "3")


@pytest.mark.long
def test_what_is_recorded_goes_through_opentelemetrys_own_exporter(served: Served) -> None:
    run(served, example("docs/exporter.md", "OTLPSpanExporter"), "", "")
    served.until(lambda: len(served.rows("SELECT run_id FROM runs")) == 1)
    (found,) = served.rows("SELECT name, task_step, state_before FROM steps")
    assert found == {"name": "look up", "task_step": 1, "state_before": '{"order":"A-17"}'}
