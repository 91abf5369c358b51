"""Log records of no trace that tell no act of an agent make no run: who sees no run of theirs is told why."""

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


@pytest.mark.long
def test_records_without_a_trace_are_named(
    served: Served, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One collector, for each takes some seconds: what comes first makes nothing that is said later wrong."""

    def said(*requests: bytes, words: str = "runs") -> str:
        if requests:
            served.send(logs=requests)
            served.wait_idle()
        answer = asking(f"http://{served.sql}", monkeypatch, capsys)(words)
        return answer.err + answer.out

    of_a_trace = said(
        logs(record("app.started", AT, trace_id=b"t" * 16, span_id=b"s" * 8)).SerializeToString()
    )
    assert "1 request arrived" in of_a_trace
    served.until(lambda: served.health()["stored_log_records"] == 1)
    asked = 'retrospan sql "SELECT service_name, event_name, count() FROM logs GROUP BY ALL"'
    assert asked in said()
    assert "app.started" in served.run("sql", asked.split('"')[1])
    assert "log record" not in of_a_trace
    assert "\n1 log record names no trace and makes no run:" in said(from_agents("", "noted"))
    of_agents = (
        "3 log records of shop\\x1b[31m name no trace and make no run: have the agent send spans as well"
    )
    assert of_agents in said(from_agents("shop\x1b[31m", "noted", "clicked"))
    assert of_agents in said(words="loops")
    assert of_agents in said(words="cost")
