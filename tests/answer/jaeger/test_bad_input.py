"""What cannot be read is refused with 400 and its name, in the form of each API; nothing reaches the engine as SQL."""

from __future__ import annotations

import pytest
from answer.jaeger.test_v3_api import ALL

from .conftest import Answer, Scene

SHOP = ("service", "shop")
HOSTILE = "x') OR 1=1; DROP TABLE raw_spans -- {name:String} \\' \x00 ${jndi} ✓"


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ([], "service"),
        ([SHOP, ("limit", "0")], "limit"),
        ([SHOP, ("limit", "-1")], "limit"),
        ([SHOP, ("limit", "1501")], "1,500"),
        ([SHOP, ("limit", "9" * 30)], "limit"),
        ([SHOP, ("limit", "9" * 5000)], "limit"),
        ([SHOP, ("limit", "ten")], "limit"),
        ([SHOP, ("limit", "１２")], "limit"),
        ([SHOP, ("start", "yesterday")], "start"),
        ([SHOP, ("end", "1e6")], "end"),
        ([SHOP, ("minDuration", "5")], "minDuration"),
        ([SHOP, ("minDuration", "-5s")], "minDuration"),
        ([SHOP, ("maxDuration", "1s 2")], "maxDuration"),
        ([SHOP, ("maxDuration", "9" * 90 + "h")], "maxDuration"),
        ([SHOP, ("minDuration", "2s"), ("maxDuration", "1s")], "maxDuration"),
        ([SHOP, ("tags", "{")], "tags"),
        ([SHOP, ("tags", "[" * 20_000)], "tags"),
        ([SHOP, ("tags", '{"a":1}')], "tags"),
        ([SHOP, ("tags", '["a"]')], "tags"),
        ([SHOP, ("tags", "{" + ",".join(f'"k{n}":"v"' for n in range(51)) + "}")], "51"),
        ([SHOP, ("tag", "no colon")], "tag"),
        ([SHOP, ("tags", '{"span.kind":"sideways"}')], "span.kind"),
        ([SHOP, ("tags", '{"error":"maybe"}')], "error"),
        ([SHOP, ("tags", '{"retrospan.step":"0"}')], "retrospan.step"),
        ([("traceID", "xyz")], "traceID"),
        ([("traceID", "a" * 33)], "traceID"),
    ],
)
def test_a_search_that_cannot_be_read_is_refused(
    scene: Scene, words: list[tuple[str, str]], named: str
) -> None:
    refused(scene.ask("/api/traces", *words), named)


def refused(answer: Answer, named: str) -> None:
    assert answer.status == 400, answer
    assert answer.body["data"] is None
    (error,) = answer.body["errors"]
    assert error["code"] == 400
    assert named in error["msg"]
    assert len(error["msg"]) < 400


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (ALL[:1], "query.startTimeMax"),
        ([*ALL[:1], ("query.startTimeMax", "soon")], "query.startTimeMax"),
        ([*ALL[:1], ("query.startTimeMax", "2026-13-01T00:00:00Z")], "query.startTimeMax"),
        ([*ALL[:1], ("query.startTimeMax", "2019-01-01T00:00:00Z")], "before"),
        ([*ALL, ("query.searchDepth", "100000000")], "1,500"),
        ([*ALL, ("query.durationMin", "x")], "query.durationMin"),
        ([*ALL, ("query.attributes", "nope")], "query.attributes"),
        ([*ALL, ("query.filter", "{}")], "query.filter"),
        ([*ALL, ("query.pagination.pageSize", "5")], "query.pagination"),
    ],
)
def test_so_is_one_of_the_newer_api(scene: Scene, words: list[tuple[str, str]], named: str) -> None:
    for path in ("/api/v3/traces", "/api/v3/trace-summaries"):
        answer = scene.ask(path, *words)
        assert (answer.status, answer.body["error"]["httpCode"]) == (400, 400)
        assert named in answer.body["error"]["message"]


def test_other_parameters_are_checked_too(scene: Scene) -> None:
    refused(scene.ask("/api/dependencies", ("endTs", "x")), "endTs")
    refused(scene.ask("/api/dependencies", ("lookback", "-1")), "lookback")
    refused(scene.ask("/api/operations"), "service")
    refused(scene.ask("/api/operations", SHOP, ("spanKind", "up")), "spanKind")
    refused(scene.ask("/api/traces/not-an-id'"), "trace_id")
    refused(scene.ask(f"/api/traces/{scene.traces[0]}", ("raw", "perhaps")), "raw")
    refused(scene.ask(f"/api/traces/{scene.traces[0]}", ("start", "soon")), "start")
    assert scene.ask("/api/v3/traces/zz!").status == 400
    early, late = ("startTime", "2020-01-01T00:00:00Z"), ("endTime", "2030-01-01T00:00:00Z")
    for words, named in (
        ([early], "endTime"),
        ([late], "startTime"),
        ([early, ("end_time", "soon")], "end_time"),
        ([("startTime", late[1]), ("endTime", early[1])], "before"),
    ):
        answer = scene.ask("/api/v3/dependencies", *words)
        assert answer.status == 400
        assert named in answer.body["error"]["message"]


def test_values_reach_the_engine_as_values(scene: Scene) -> None:
    quoted = HOSTILE.replace("\\", "\\\\").replace("\x00", "\\u0000")
    assert scene.ask.ids(("service", HOSTILE)) == []
    assert scene.ask.ids(SHOP, ("operation", HOSTILE)) == []
    assert scene.ask.ids(SHOP, ("tag", f"{HOSTILE}:{HOSTILE}")) == []
    assert scene.ask.ids(SHOP, ("tags", f'{{"{quoted}":"{quoted}"}}')) == []
    for ours in ("retrospan.run.id", "retrospan.outcome", "retrospan.operation", "otel.status_description"):
        assert scene.ask.ids(SHOP, ("tags", f'{{"{ours}":"{quoted}"}}')) == []
    assert scene.ask("/api/dependencies", ("service", HOSTILE)).body["data"] == []
    assert scene.ask("/api/v3/operations", ("service", HOSTILE)).body == {"operations": []}
    assert len(scene.ask.ids(SHOP)) == 3


def test_a_page_of_somebody_else_is_refused(scene: Scene) -> None:
    answer = scene.ask("/api/services", Origin="https://evil.example")
    assert (answer.status, answer.body["errors"][0]["code"]) == (403, 403)
    assert scene.ask("/api/v3/services", Host="evil.example").status == 403
