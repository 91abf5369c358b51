"""Days and hours as commands tell them: across the end of summer time, in zones of a quarter of an hour, and after 2149."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime

import pytest
from fix_collector import Served
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from otlp_requests import traces

LATE = "2200-01-01T00:00:00+00:00"
TWICE = ("2026-10-25T00:30:00+00:00", "2026-10-25T01:30:00+00:00")  # both at 2:30 in Oslo
MIDNIGHT = "2026-03-01T00:00:00+00:00"


def run_at(began: str) -> bytes:
    """A run that calls a model, and six times the same tool, from a time on."""
    start = int(datetime.fromisoformat(began).timestamp()) * 10**9
    trace_id, root = os.urandom(16), os.urandom(8)

    def one(number: int, name: str, parent: bytes = b"", **said: str) -> Span:
        made = Span(
            trace_id=trace_id,
            span_id=root if not parent else os.urandom(8),
            parent_span_id=parent,
            name=name,
            start_time_unix_nano=start + number * 10**6,
            end_time_unix_nano=start + (number + 1) * 10**6 if parent else start + 10**9,
        )
        for key, value in said.items():
            made.attributes.add(key=key.replace("__", ".")).value.string_value = value
        return made

    called = {
        "gen_ai__tool__name": "search",
        "gen_ai__tool__call__arguments": '{"q":1}',
        "gen_ai__tool__call__result": "nothing was found",
    }
    spans = [
        one(0, "invoke_agent", gen_ai__operation__name="invoke_agent", gen_ai__agent__name="orla"),
        one(0, "chat", root, gen_ai__operation__name="chat", gen_ai__request__model="m-1"),
        *(
            one(n, "execute_tool", root, gen_ai__operation__name="execute_tool", **called)
            for n in range(1, 7)
        ),
    ]
    spans[1].attributes.add(key="gen_ai.usage.input_tokens").value.int_value = 10
    return traces(*spans).SerializeToString()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("days")
    found = Served(folder / "data", folder / "stderr.txt")
    try:
        found.send([run_at(began) for began in (LATE, *TWICE, MIDNIGHT)])
        found.wait_idle()
        yield found
    finally:
        found.kill()


def said(served: Served, zone: str, *words: str) -> str:
    """What a command prints in a zone, on both streams."""
    environ = {**os.environ, "RETROSPAN_URL": f"http://{served.sql}", "TZ": zone}
    command = [sys.executable, "-m", "retrospan.ingest.cli.main", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True, env=environ)
    return done.stdout + done.stderr


@pytest.mark.parametrize("words", [("loops", "day"), ("cost", "what"), ("findings", "name")])
def test_the_day_of_a_run_is_its_own_whatever_the_clock_said(served: Served, words: tuple[str, str]) -> None:
    command, named = words
    told = said(served, "Asia/Kathmandu", command, "--by", "day", "--json")
    days = [json.loads(line)[named] for line in told.splitlines()]
    assert days == ["2200-01-01", "2026-10-25", "2026-03-01"]
    assert "days are UTC" in said(served, "Asia/Kathmandu", command, "--by", "day")


def test_a_time_that_the_clock_shows_twice_is_told_apart(served: Served) -> None:
    told = said(served, "Europe/Oslo", "runs")
    assert "2026-10-25 02:30 +02:00" in told and "2026-10-25 02:30 +01:00" in told
    assert "2026-03-01 01:00 " in told
    assert "times Europe/Oslo (+01:00 and +02:00)" in told


def test_a_limit_is_told_with_its_offset(served: Served) -> None:
    for command in ("loops", "cost", "findings"):
        told = said(served, "Asia/Kathmandu", command, "--since", "2026-10-25")
        assert "since 2026-10-25 05:45:00.000 +05:45" in told, told
    assert "since 2040-01-01 00:00:00.000 UTC" in said(
        served, "Asia/Kathmandu", "cost", "--since", "2040-01-01", "--utc"
    )
