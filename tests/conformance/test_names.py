"""R34, R41, R42, R44: names as nobody should give them are text, whatever they look like, and stay in their place."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import otlp_requests as make
import pytest
from fix_collector import Served
from sampling import one_in

KEYS = (
    "__proto__", "constructor.prototype", "constructor", "prototype", "toString", "hasOwnProperty", "a", "a.b", "a.b.c",
    "a..b", ".", "", " ", "0", "$ref", "{x:String}", "'; DROP TABLE raw_spans --", "\u202e", "k" * 10_000,
)  # fmt: skip
PATHS = (
    "../../../pwned",
    "/pwned",
    "..\\..\\pwned",
    "pwned\x00.txt",
    "%2e%2e%2fpwned",
    "file:///pwned",
    "pwned/../pwned",
)
MARKUP = "<script>alert(1)</script><img src=x onerror=alert(1)>[x](javascript:alert(1))"
DISTINCT_KEYS, KEYS_PER_SPAN = 1_000_000, 1_000


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    directory = tmp_path_factory.mktemp("names")
    made = Served(directory / "data", directory / "stderr.txt")
    try:
        yield made
    finally:
        made.kill()


@pytest.mark.long
@pytest.mark.parametrize("way", ["protobuf", "JSON"])
@pytest.mark.requirement("R41")
def test_each_key_is_text_with_its_own_value(collector: Served, way: str) -> None:
    span = make.span("keys")
    for number, key in enumerate(KEYS):
        span.attributes.add(key=key).value.string_value = f"value {number}"
    if way == "protobuf":
        collector.send(traces=[make.traces(span).SerializeToString()])
    else:
        attributes = [
            {"key": each.key, "value": {"stringValue": each.value.string_value}} for each in span.attributes
        ]
        document = {
            "traceId": span.trace_id.hex(), "spanId": span.span_id.hex(), "name": "keys", "attributes": attributes,
            "startTimeUnixNano": "1790000000000000000", "endTimeUnixNano": "1790000001000000000",
        }  # fmt: skip
        body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [document]}]}]}).encode()
        collector.post("/v1/traces", body, "application/json")
    collector.wait_idle()
    [row] = collector.rows("SELECT attributes FROM spans WHERE span_id = {id:String}", id=span.span_id.hex())
    wanted = {key: f"value {number}" for number, key in enumerate(KEYS)}
    assert row["attributes"] == {"gen_ai.operation.name": "chat", **wanted}
    # One key by its name is that key's value and nobody else's.
    for key in ("a", "a.b", "__proto__", ""):
        [row] = collector.rows(
            "SELECT attributes[{key:String}] AS value FROM spans WHERE span_id = {id:String}",
            key=key,
            id=span.span_id.hex(),
        )
        assert row["value"] == wanted[key]


@pytest.mark.long
@pytest.mark.requirement("R44")
def test_no_name_that_was_sent_becomes_a_path(collector: Served) -> None:
    before = files(collector.data.parent)
    for path in PATHS:
        span = make.span(path)
        for key in ("gen_ai.agent.name", "gen_ai.conversation.id", "session.id", "gen_ai.tool.name", path):
            span.attributes.add(key=key).value.string_value = path
        request = make.traces(span)
        request.resource_spans[0].resource.attributes.add(key="tenant.id").value.string_value = path
        request.resource_spans[0].schema_url = path
        collector.send(traces=[request.SerializeToString()])
    collector.wait_idle()
    found = collector.rows("SELECT name FROM spans WHERE position(name, 'pwned') > 0")
    assert sorted(row["name"] for row in found) == sorted(PATHS)
    for row in collector.rows("SELECT run_id FROM runs WHERE position(agent_name, 'pwned') > 0"):
        collector.run("show", row["run_id"])
    new = files(collector.data.parent) - before
    assert not [path for path in new if "pwned" in path]
    inside = ("data/log/", "data/warehouse/")
    assert not [path for path in new if not path.startswith(inside) and path != "data/tenant"]
    assert not Path("/pwned").exists()


def files(top: Path) -> set[str]:
    return {str(path.relative_to(top)) for path in top.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "form",
    one_in(4, ["TabSeparated", "JSONEachRow", "CSV", "Markdown", "XML", "Pretty", "Vertical", "Raw"]),
)
@pytest.mark.requirement("R42")
def test_no_answer_is_a_page(collector: Served, form: str) -> None:
    span = make.span(MARKUP)
    collector.send(traces=[make.traces(span).SerializeToString()])
    collector.wait_idle()
    query = urllib.parse.urlencode(
        {
            "query": "SELECT name FROM spans WHERE span_id = {id:String}",
            "default_format": form,
            "param_id": span.span_id.hex(),
        }
    )
    try:
        with urllib.request.urlopen(f"http://{collector.sql}/?{query}", timeout=30) as reply:
            kind, headers = reply.headers.get_content_type(), reply.headers
            assert b"script" in reply.read()
    except urllib.error.HTTPError as refused:
        with refused:
            kind, headers = refused.headers.get_content_type(), refused.headers
    assert kind not in ("text/html", "application/xhtml+xml", "image/svg+xml")
    assert headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.soak
@pytest.mark.requirement("R34")
def test_a_million_attribute_keys_make_no_column_and_no_file_each(collector: Served) -> None:
    collector.wait_idle()
    columns = "SELECT toUInt32(count()) AS n FROM system.columns WHERE database = 'retrospan'"
    [before] = collector.rows(columns)
    for first in range(0, DISTINCT_KEYS, 100 * KEYS_PER_SPAN):
        spans = []
        for start in range(first, first + 100 * KEYS_PER_SPAN, KEYS_PER_SPAN):
            span = make.span("many keys")
            for number in range(start, start + KEYS_PER_SPAN):
                span.attributes.add(key=f"request.{number:07}.id").value.int_value = number
            spans.append(span)
        collector.send(traces=[make.traces(*spans).SerializeToString()])
    collector.until(lambda: not collector.health()["load_lag_records"], 300.0)
    collector.until(lambda: not collector.health()["interpretation_lag_traces"], 300.0)
    [row] = collector.rows(
        "SELECT toUInt32(uniqExact(arrayJoin(mapKeys(attributes)))) AS n FROM spans WHERE name = 'many keys'"
    )
    assert row["n"] == DISTINCT_KEYS + 1
    [one] = collector.rows(
        "SELECT attributes['request.0654321.id'] AS value FROM spans "
        "WHERE name = 'many keys' AND mapContains(attributes, 'request.0654321.id')"
    )
    assert one["value"] == "654321"
    assert collector.rows(columns) == [before]
    [parts] = collector.rows(
        "SELECT toUInt32(max(n)) AS n FROM (SELECT count() AS n FROM system.parts WHERE active GROUP BY table)"
    )
    assert parts["n"] < 100
    assert collector.health()["quarantine"] == 0
