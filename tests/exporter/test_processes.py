"""Whole agents in processes of their own: start, the end in all its forms, other providers."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from exporter.programs import SPAN, agent, finished
from exporter.receiver import TAKEN, Receiver, Reply, attributes
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from retrospan.schemas.attributes import BEGUN

SERVER_PACKAGES = (
    "chdb clickhouse_connect grpc h11 isal numpy pandas polars pyarrow uvicorn retrospan.ingest "
    "retrospan.queries"
)


def test_nothing_of_the_server_is_loaded_in_an_agent() -> None:
    out, _ = finished(
        agent(f"""
            import sys
            from retrospan.exporter import instrument
            instrument()
            print([name for name in {SERVER_PACKAGES.split()!r} if name in sys.modules])
        """)
    )
    assert out.splitlines() == ["[]"]


def test_one_call_then_the_end_of_the_process_delivers_without_a_flush(receiver: Receiver) -> None:
    _, err = finished(
        agent(
            SPAN
            + """
from retrospan.exporter import instrument
made = instrument(service_name="shop", resource={"team": "a"})
assert instrument() is made
span("one", **{f"k{n}": "v" * 9 for n in range(500)})
raise SystemExit(3)
""",
            receiver,
        ),
        3,
    )
    assert receiver.names() == ["one"]
    # The SDK's own limit of 128 attributes is off.
    assert len(receiver.spans()[0].attributes) == 500
    resource = attributes(receiver.requests()[0].parsed().resource_spans[0].resource.attributes)
    assert resource["service.name"] == "shop" and resource["team"] == "a"
    assert err == ""


def test_variables_of_opentelemetry_are_honoured(receiver: Receiver) -> None:
    finished(
        agent(
            SPAN + "from retrospan.exporter import instrument\ninstrument()\nspan('one', a=1, b=2, c='xyz')",
            receiver,
            OTEL_SERVICE_NAME="named",
            OTEL_EXPORTER_OTLP_HEADERS="x-team=a,authorization=Bearer%20abc",
            OTEL_EXPORTER_OTLP_COMPRESSION="gzip",
            OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT="2",
        )
    )
    (got,) = [got for got in receiver.got if got.body and len(got.body) > 30]
    assert got.headers["authorization"] == "Bearer abc" and got.headers["x-team"] == "a"
    assert got.headers["Content-Encoding"] == "gzip"
    (group,) = ExportTraceServiceRequest.FromString(gzip.decompress(got.body)).resource_spans
    assert attributes(group.resource.attributes)["service.name"] == "named"
    (span,) = group.scope_spans[0].spans
    assert len(span.attributes) == 2 and span.dropped_attributes_count == 1


@pytest.mark.parametrize(
    "switch",
    [
        ("OTEL_SDK_DISABLED", "true"),
        pytest.param(("OTEL_TRACES_EXPORTER", "none"), marks=pytest.mark.long),
    ],
)
def test_the_switches_of_opentelemetry_switch_it_off(receiver: Receiver, switch: tuple[str, str]) -> None:
    out, _ = finished(
        agent(
            SPAN + "from retrospan.exporter import instrument\nmade = instrument()\nspan('one')\n"
            "import threading\nprint(made.enabled, made.flush(), threading.active_count())",
            receiver,
            **{switch[0]: switch[1]},
        )
    )
    assert out.split() == ["False", "True", "1"]
    assert receiver.got == []


def test_a_provider_that_is_set_already_stays_and_keeps_its_own_exporters(receiver: Receiver) -> None:
    out, _ = finished(
        agent(
            SPAN
            + """
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
own, theirs = TracerProvider(), InMemorySpanExporter()
own.add_span_processor(SimpleSpanProcessor(theirs))
trace.set_tracer_provider(own)
from retrospan.exporter import instrument
made = instrument()
span("one")
assert made.flush(10)
print(trace.get_tracer_provider() is own is made.provider, [each.name for each in theirs.get_finished_spans()])
""",
            receiver,
        )
    )
    assert out.strip() == "True ['one']" and receiver.names() == ["one"]


def test_a_provider_that_takes_no_processor_is_reported_and_nothing_breaks(receiver: Receiver) -> None:
    _, err = finished(
        agent(
            SPAN
            + """
trace.set_tracer_provider(trace.NoOpTracerProvider())
from retrospan.exporter import instrument
instrument()
span("one")
""",
            receiver,
        )
    )
    assert "NoOpTracerProvider" in err and len(err.splitlines()) == 1


def test_a_program_that_holds_no_metadata_of_packages_delivers(receiver: Receiver) -> None:
    """As one that was packed into a single file."""
    code = """
import importlib.metadata as metadata
def version(name):
    raise metadata.PackageNotFoundError(name)
metadata.version = version
from opentelemetry import trace
from retrospan.exporter import instrument
made = instrument()
trace.get_tracer("agent").start_span("packed").end()
assert made.flush(20)
"""
    _, err = finished(agent(code, receiver))
    assert (receiver.names(), err) == (["packed"], "")
    assert receiver.got[0].headers["User-Agent"] == "retrospan-exporter/unknown"


def test_after_kill_9_the_next_process_delivers_what_was_spooled(receiver: Receiver, tmp_path: Path) -> None:
    receiver.answer = receiver.answer_logs = lambda body: Reply(503)
    settings = {"RETROSPAN_EXPORTER_SPOOL": str(tmp_path), "RETROSPAN_EXPORTER_DELAY_SECONDS": "0.05"}
    killed = agent(
        SPAN
        + "from retrospan.exporter import instrument\ninstrument()\nfor n in range(5): span(f'span {n}')\n"
        "import time\ntime.sleep(60)",
        receiver,
        **settings,
    )
    receiver.until(lambda: bool(list(tmp_path.glob("*.otlp"))))
    receiver.until(lambda: sum(b"span 4" in file.read_bytes() for file in tmp_path.glob("*.otlp")) == 1)
    killed.send_signal(signal.SIGKILL)
    killed.communicate(timeout=30)
    receiver.answer = receiver.answer_logs = lambda body: TAKEN
    finished(
        agent(
            SPAN + "from retrospan.exporter import instrument\ninstrument()\nspan('heir')",
            receiver,
            **settings,
        )
    )
    assert receiver.names() == ["span 0", "span 1", "span 2", "span 3", "span 4", "heir"]
    assert list(tmp_path.iterdir()) == []


def test_the_event_loop_is_never_entered_by_the_exporter(receiver: Receiver) -> None:
    """A loop in debug mode complains of nothing, and spans of many tasks arrive."""
    _, err = finished(
        agent(
            SPAN
            + """
import asyncio
from retrospan.exporter import instrument
made = instrument()
async def work(n):
    for _ in range(20):
        span(f"task {n}", state="s" * 5000)
        await asyncio.sleep(0)
async def main():
    await asyncio.gather(*(work(n) for n in range(20)))
    assert await asyncio.to_thread(made.flush, 20)
asyncio.run(main())
""",
            receiver,
        )
    )
    assert len(receiver.names()) == 400 and err == ""


def test_opentelemetry_instrument_needs_no_line_in_the_agent(receiver: Receiver, tmp_path: Path) -> None:
    script = tmp_path / "agent.py"
    script.write_text(
        SPAN + "span('zero code', secret='sk-' + 'a1' * 20, **{f'k{n}': n for n in range(300)})\n"
    )
    clean = {
        name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "RETROSPAN_"))
    }
    done = subprocess.run(
        [str(Path(sys.executable).with_name("opentelemetry-instrument")), sys.executable, str(script)],
        env={
            **clean,
            "OTEL_TRACES_EXPORTER": "retrospan",
            "OTEL_METRICS_EXPORTER": "none",
            "OTEL_LOGS_EXPORTER": "none",
            "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url.removesuffix("/v1/traces"),
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert receiver.names() == ["zero code"], done.stderr
    (begun,) = receiver.records(BEGUN)
    assert begun.span_id == receiver.spans()[0].span_id
    found = attributes(receiver.spans()[0].attributes)
    assert len(found) == 302 and found["secret"] == "[redacted:credential]"
    assert done.stderr == ""
