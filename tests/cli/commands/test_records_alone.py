"""Agents on the command line may send log records and no spans: who sees no run of theirs is told why."""

from __future__ import annotations

import pytest
from fix_cli import asking
from fix_collector import Served
from otlp_requests import logs, record

AT = 1_790_000_000 * 10**9


def from_agents(service: str, *events: str) -> bytes:
    request = logs(
        *(record(at=AT, said={"session.id": "s-1", "event.name": name}, body=name) for name in events)
    )
    if service:
        named = request.resource_logs[0].resource.attributes.add(key="service.name")
        named.value.string_value = service
    return request.SerializeToString()


@pytest.mark.parametrize("words", [("runs",), ("loops",), ("cost",)])
def test_records_without_a_trace_are_named(
    served: Served,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
) -> None:
    served.send(logs=[from_agents("claude-code\x1b[31m", "user_prompt", "api_request"), from_agents("", "x")])
    served.wait_idle()
    said = asking(f"http://{served.sql}", monkeypatch, capsys)(*words)
    assert (
        "3 log records of claude-code\\x1b[31m name no trace and make no run: have the agent send spans as well"
        in said.err + said.out
    )


def test_one_record_of_nobody_is_said_in_the_singular(
    served: Served, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    served.send(logs=[from_agents("", "user_prompt")])
    served.wait_idle()
    said = asking(f"http://{served.sql}", monkeypatch, capsys)("runs")
    assert "\n1 log record names no trace and makes no run:" in said.err + said.out


def test_records_of_traces_are_not_spoken_of(
    served: Served, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    request = logs(record("app.started", AT, trace_id=b"t" * 16, span_id=b"s" * 8))
    served.send(logs=[request.SerializeToString()])
    served.wait_idle()
    said = asking(f"http://{served.sql}", monkeypatch, capsys)("runs")
    assert "1 request arrived" in said.err + said.out
    assert "log record" not in said.err + said.out
