"""A node of a graph is an agent where it is a graph itself; any other works for the agent around, whatever it is called."""

from __future__ import annotations

import json

from made_runs import act, agent, asks, chat, returned, rows, said, tool

from retrospan.ingest.interpret.rows.lists import Rows
from retrospan.ingest.interpret.spans.span import Span

HI, CALL = said("user", "How is Oslo?"), asks("weather", {"city": "Oslo"}, "call_1")
SNOW = {"sky": "snow"}
#: Acts whose spans name no agent.
NAMELESS = {"gen_ai__agent__name": ""}


def _called(at: float, name: str, node: str, inside: str = "", takes: float = 2, **more: str) -> Span:
    """Return the span of a node, or of what runs in it, that calls itself an agent."""
    own = {"metadata__langgraph_node": node, "gen_ai__agent__name": name, "name": f"invoke_agent {name}"}
    return act("invoke_agent", at, takes=takes, inside=inside, **{**own, **more})


def _agents(found: Rows) -> list[str | None]:
    return [call.agent_name for call in found.model_calls] + [call.agent_name for call in found.tool_calls]


def _in_chain(at: float, node: str, place: str, inside: str = "", takes: float = 20) -> Span:
    metadata = json.dumps({"langgraph_node": node, "langgraph_step": 1, "langgraph_checkpoint_ns": place})
    kind = {"openinference__span__kind": "CHAIN"}
    return act("", at, takes=takes, name=node, inside=inside, metadata=metadata, **kind)


def test_nodes_that_call_themselves_agents_work_for_the_agent_around() -> None:
    spans = [agent()]
    for at in range(1, 31, 10):
        model, tools = _called(at, "model", "model"), _called(at + 5, "tools", "tools")
        sequence = _called(at + 0.1, "RunnableSequence", "model", inside=model.span_id)
        asking = chat(at + 0.2, [HI], asks("weather", {}, f"call_{at}"), inside=sequence.span_id, **NAMELESS)
        ran = tool(at + 5.2, "weather", {}, [], inside=tools.span_id, tool_call_id=f"call_{at}", **NAMELESS)
        spans += [model, sequence, asking, tools, ran]
    found = rows(*spans)
    assert {*_agents(found)} == {"orla"}
    assert [each.agent_name for each in found.agents] == ["orla"]
    assert [(loop.tool_name, loop.repeats) for loop in found.loops] == [("weather", 3)]


def test_a_node_that_is_a_graph_keeps_its_name() -> None:
    outer = _called(1, "weather", "weather", takes=10)
    inner = _called(2, "model", "model", inside=outer.span_id)
    found = rows(agent(), outer, inner, chat(2.2, [HI], "Snow.", inside=inner.span_id, **NAMELESS))
    assert _agents(found) == ["weather"]


def test_a_graph_in_a_graph_without_a_name_is_the_agent() -> None:
    def names(root: str, place: str = "triage:1|model:2", inside: str = "") -> list[str | None]:
        kind = {"openinference__span__kind": "CHAIN"}
        top = act("", 0, takes=100, span_id=f"{1:016x}", parent_span_id="", name=root, **kind)
        outer = _in_chain(1, "triage", "triage:1")
        through = tool(1.5, "ask", {}, takes=10, inside=outer.span_id, **NAMELESS)
        inner = _in_chain(2, "model", place, through.span_id if inside else outer.span_id, 5)
        asking = chat(3, [HI], "Snow.", inside=inner.span_id, **NAMELESS)
        spans = [top, outer, inner, asking, *([through] if inside else [])]
        return [call.agent_name for call in rows(*spans).model_calls]

    assert names("LangGraph") == ["triage"]
    assert names("orla") == ["orla"]
    assert names("LangGraph", place="other:1|model:2") == ["LangGraph"]
    assert names("LangGraph", inside="a tool") == ["LangGraph"]


def test_who_hands_over_to_another_agent_of_the_graph_has_not_failed() -> None:
    def failures(kind: str) -> int:
        node = _called(5, "tools", "tools", error=kind, status_message=f"{kind}(graph='__parent__')")
        told = [HI, said("assistant", CALL), returned("call_1", SNOW)]
        spans = [chat(1, [HI], CALL), node, tool(5.2, "weather", inside=node.span_id), chat(9, told, "Snow.")]
        return len(rows(agent(), *spans).failures)

    assert failures("ParentCommand") == failures("langgraph.errors.ParentCommand") == 0
    assert failures("ValueError") == 1
