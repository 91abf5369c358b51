"""A collector that redacts, as a process: what was planted is in no file of its data directory, whatever it said."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import otlp_requests as make
import pytest
from fix_collector import Served
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord

PROTOBUF, JSON = "application/x-protobuf", "application/json"
# Told apart from everything else on disk; each is found by another rule.
API_KEY, PASSWORD, EMAIL = "sk-" + "Qx7Planted" * 3, "Vq8PlantedPassword", "Zk9Planted@mail.example.org"
TICKET, NAMED = "ACME-7318842971", "Jw5PlantedUnderAKey"
SECRETS = (API_KEY, PASSWORD, EMAIL, TICKET, NAMED)


@pytest.fixture(scope="module")
def redacting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    directory = tmp_path_factory.mktemp("redacting")
    rules, config = directory / "rules.toml", directory / "retrospan.toml"
    rules.write_text(
        '[[key]]\nid = "named"\nmatch = "tool.arguments.*.owner"\n'
        "[[pattern]]\nid = \"ticket\"\nmatch = 'ACME-[0-9]{6,12}'\n"
    )
    config.write_text(f'[redaction]\nenabled = true\nrules = "{rules}"\n')
    collector = Served(directory / "data", directory / "stderr.txt", "--config", str(config))
    yield collector
    collector.kill()


def files_with(directory: Path, secret: str) -> list[Path]:
    return [file for file in directory.rglob("*") if file.is_file() and secret.encode() in file.read_bytes()]


def planted() -> bytes:
    span = make.span(f"chat {API_KEY}")
    text = {"api": API_KEY, "mail": EMAIL, "line": f"\n{TICKET}", "password": PASSWORD}
    values = {
        "gen_ai.input.messages": json.dumps([{"role": "user", "parts": [{"type": "text", "content": json.dumps(text)}]}]),
        "tool.arguments": json.dumps({"people": {"first": {"owner": NAMED}}}),
        "http.request.header.authorization": PASSWORD,
        EMAIL: "under a key",
    }  # fmt: skip
    for key, value in values.items():
        span.attributes.add(key=key).value.string_value = value
    span.status.message = f"refused {TICKET}"
    event = span.events.add(name=f"exception {API_KEY}")
    event.attributes.add(key="exception.message").value.string_value = f"password={PASSWORD} for {EMAIL}"
    link = span.links.add(trace_id=bytes([7]) * 16, span_id=bytes([7]) * 8)
    link.attributes.add(key="why").value.string_value = TICKET
    request = make.traces(span)
    request.resource_spans[0].resource.attributes.add(key="argv").value.string_value = f"agent --mail {EMAIL}"
    return request.SerializeToString()


def refused(collector: Served, path: str, body: bytes, content_type: str) -> int:
    try:
        collector.post(path, body, content_type)
    except urllib.error.HTTPError as error:
        with error:
            return error.code
    return 200


@pytest.mark.requirement("R47")
def test_a_byte_scan_finds_none_of_the_planted_secrets(redacting: Served) -> None:
    everything = f"{API_KEY} password={PASSWORD} {EMAIL} {TICKET}"
    redacting.send(traces=[planted()])
    redacting.send(logs=[make.logs(LogRecord(body=AnyValue(string_value=everything))).SerializeToString()])
    bad = make.span(everything, trace_id=b"short")
    redacting.send(traces=[make.traces(make.span(), bad).SerializeToString()])
    assert refused(redacting, "/v1/traces", b"\xff" + everything.encode(), PROTOBUF) == 400
    assert refused(redacting, "/v1/traces", b'{"' + everything.encode(), JSON) == 400
    assert refused(redacting, f"/v2/{API_KEY}", b"", JSON) == 404
    redacting.wait_idle()
    with urllib.request.urlopen(f"http://{redacting.sql}/metrics", timeout=30) as reply:
        metrics = reply.read().decode()
    assert "retrospan_intake_spans_redacted_total 1\n" in metrics
    assert "retrospan_intake_log_records_redacted_total 1\n" in metrics
    [row] = redacting.rows(
        "SELECT attributes['retrospan.redacted'] AS redacted FROM spans WHERE name = 'chat [redacted:api-key]'"
    )
    assert {entry["rule"] for entry in json.loads(row["redacted"])} == {
        "api-key", "credential", "email", "named", "ticket", "assignment",
    }  # fmt: skip
    assert redacting.stop() == 0
    directory = redacting.data.parent
    assert files_with(redacting.data, "chat [redacted:api-key]"), "the log keeps what is not a secret"
    for secret in SECRETS:
        assert files_with(redacting.data, secret) == []
        assert secret not in metrics
        assert secret not in (directory / "stderr.txt").read_text()
    assert "/v2/[redacted:api-key]" in (directory / "stderr.txt").read_text()
