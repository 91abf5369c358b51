"""What equal content, outputs and links tell of where things came from: pure, from spans."""

from __future__ import annotations

import json
from typing import Any

import pytest
from spans import read_run

from retrospan.ingest.interpret.spans.span import Link, Span
from retrospan.schemas.hashing import hash_of
from retrospan.schemas.references import document_ref

TRACE = "cd" * 16
RUN = f"step:{TRACE}/"
POLICY = "Goods may be returned within thirty days of purchase."
KB_17 = document_ref("kb-17", version=hash_of(POLICY))


def _span(place: int, operation: str, parent: int | None = 0, **attributes: Any) -> Span:
    said = {key.replace("__", "."): value for key, value in attributes.items()}
    return Span(
        trace_id=TRACE,
        span_id=f"{place + 1:016x}",
        parent_span_id="" if parent is None else f"{parent + 1:016x}",
        name=operation,
        kind=1,
        flags=0,
        started_at=1_000 * (place + 1),
        ended_at=900_000 if parent is None else 1_000 * (place + 1) + 500,
        status="unset",
        status_message="",
        scope="test",
        scope_version="",
        attributes={"gen_ai.operation.name": operation, **said},
        resource={},
    )


def _chat(place: int, answer: str, *asked: str, system: str = "") -> Span:
    def told(role: str, content: str) -> dict[str, object]:
        return {"role": role, "parts": [{"type": "text", "content": content}]}

    span = _span(
        place,
        "chat",
        gen_ai__input__messages=json.dumps([told("user", text) for text in asked]),
        gen_ai__output__messages=json.dumps([told("assistant", answer)]),
    )
    if system:
        span.attributes = {
            **span.attributes,
            "gen_ai.system_instructions": json.dumps([{"type": "text", "content": system}]),
        }
    return span


def _tool(place: int, arguments: object, result: object) -> Span:
    return _span(
        place,
        "execute_tool",
        gen_ai__tool__name="look",
        gen_ai__tool__call__arguments=json.dumps(arguments),
        gen_ai__tool__call__result=result if isinstance(result, str) else json.dumps(result),
    )


def _edges(*spans: Span) -> set[tuple[str, str, str, str | None, str]]:
    root = _span(0, "invoke_agent", None)
    found = read_run(TRACE, [root, *spans]).edges
    return {
        (e.subject.replace(RUN, ""), e.relation, e.object.replace(RUN, ""), e.role, e.evidence) for e in found
    }


def _without_messages(edges: set[tuple[str, str, str, str | None, str]]) -> set[tuple[str, ...]]:
    return {
        ("message" if a.startswith("message:") else a, r, "message" if b.startswith("message:") else b)
        for a, r, b, role, _ in edges
        if role != "answer"
    }


def test_a_document_that_a_later_prompt_or_system_text_holds() -> None:
    found = _span(
        1, "retrieval", gen_ai__retrieval__documents=json.dumps([{"id": "kb-17", "content": POLICY}])
    )
    edges = _edges(
        found,
        _chat(2, "ok", f"Context:\n{POLICY}\nMay I?"),
        _chat(3, "ok", "May I?", system=f"Know: {POLICY}"),
    )
    assert ("1", "used", KB_17, "document", "matched") in edges
    assert ("3", "used", KB_17, "content", "inferred") in edges
    assert ("message", "wasDerivedFrom", KB_17) in _without_messages(edges)
    # Said before anything was retrieved: not from there.
    assert ("message", "wasDerivedFrom", KB_17) not in _without_messages(
        _edges(
            _chat(1, "ok", POLICY),
            _span(
                2, "retrieval", gen_ai__retrieval__documents=json.dumps([{"id": "kb-17", "content": POLICY}])
            ),
        )
    )


def test_only_so_much_is_searched_for_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    document = json.dumps([{"id": "kb-17", "content": POLICY}])
    spans = _span(1, "retrieval", gen_ai__retrieval__documents=document), _chat(2, "ok", f"{POLICY} May I?")
    held = ("message", "wasDerivedFrom", KB_17)
    assert held in _without_messages(_edges(*spans))
    monkeypatch.setattr("retrospan.ingest.interpret.lineage.value_lineage.MOST_SEARCHED", len(POLICY))
    assert held not in _without_messages(_edges(*spans))


def test_a_value_of_a_result_that_a_later_argument_holds() -> None:
    edges = _edges(
        _chat(1, "wait", "Find Ada."),
        _tool(2, {"name": "Ada"}, {"id": "C-1042", "city": "Oslo", "age": 40}),
        _tool(3, {"customer": "C-1042", "city": "Oslo", "age": 40}, "done"),
    )
    assert ("3", "wasInformedBy", "2", "argument customer", "inferred") in edges
    assert not any(role in ("argument city", "argument age") for *_, role, _ in edges)
    told_before = _edges(
        _chat(1, "wait", "Find C-1042."),
        _tool(2, {"name": "Ada"}, {"id": "C-1042"}),
        _tool(3, {"customer": "C-1042"}, "done"),
    )
    assert {
        (a, r, b.partition(":")[0]) for a, r, b, role, _ in told_before if role == "argument customer"
    } == {("3", "used", "message")}


def test_a_result_that_a_prompt_holds_as_text() -> None:
    result = "The parcel left Oslo at noon and is expected in Bergen."
    edges = _edges(_tool(1, {"q": "parcel"}, result), _chat(2, "It is on its way.", f"Observation: {result}"))
    assert ("message", "wasGeneratedBy", "1") in _without_messages(edges)


def test_an_output_of_a_span_that_is_not_a_step_comes_from_the_steps_inside() -> None:
    spans = [
        _span(1, "task", retrospan__output__id="2841/a"),
        _tool(2, {"q": 1}, "x"),
        _chat(3, "ok", "May I?"),
    ]
    spans[1].parent_span_id = spans[0].span_id
    edges = _edges(*spans)
    around = f"span:{TRACE}/{spans[0].span_id}"
    assert ("output:2841%2Fa", "wasGeneratedBy", around, None, "stated") in edges
    assert (around, "wasInformedBy", "1", "inside", "matched") in edges
    assert (around, "wasInformedBy", "2", "inside", "matched") not in edges


def test_links_lead_to_other_runs() -> None:
    call = _chat(1, "ok", "Again?")
    call.attributes = {**call.attributes, "retrospan.fork.step": 4}
    call.links = [
        Link(trace_id="ef" * 16, span_id="1" * 16, attributes={"retrospan.link.type": "forks"}),
        Link(
            trace_id="ef" * 16,
            span_id="1" * 16,
            attributes={"retrospan.link.type": "derived_from", "retrospan.run.id": "a/b"},
        ),
        Link(trace_id="ef" * 16, span_id="1" * 16, attributes={}),
    ]
    edges = {edge for edge in _edges(call) if edge[3] in ("forks", "derived_from")}
    assert edges == {
        (f"run:{TRACE}", "wasDerivedFrom", f"step:{'ef' * 16}/4", "forks", "stated"),
        ("1", "wasInformedBy", f"step:{'ef' * 16}/4", "forks", "stated"),
        (f"run:{TRACE}", "wasDerivedFrom", "run:a%2Fb", "derived_from", "stated"),
        ("1", "wasInformedBy", "run:a%2Fb", "derived_from", "stated"),
    }


def test_a_link_of_an_agent_is_not_told_again_by_the_calls_that_its_output_tells() -> None:
    def told(role: str, **part: object) -> dict[str, object]:
        return {"role": role, "parts": [part]}

    root = _span(
        0,
        "invoke_agent",
        None,
        gen_ai__input__messages=json.dumps([told("user", type="text", content="Again?")]),
        gen_ai__output__messages=json.dumps(
            [
                told("assistant", type="tool_call", id="c1", name="look", arguments={}),
                told("assistant", type="text", content="Yes."),
            ]
        ),
    )
    root.links = [
        Link(trace_id="ef" * 16, span_id="1" * 16, attributes={"retrospan.link.type": "resumes"}),
    ]
    looked = _span(2, "execute_tool", gen_ai__tool__name="look", gen_ai__tool__call__id="c1")
    run = read_run(TRACE, [root, looked])
    assert len(run.calls.models) == 2
    assert [edge.subject for edge in run.edges if edge.role == "resumes"] == [f"run:{TRACE}", f"{RUN}1"]
