"""What instrumentations in JavaScript round and quote: whole milliseconds, and texts written as JSON."""

from __future__ import annotations

from typing import Any

from made_runs import SECOND, act, agent, asks, chat, returned, rows, said, tool

from retrospan.ingest.interpret.rows.lists import Rows
from retrospan.ingest.interpret.spans.span import Event, Span

HI = said("user", "Hi")
FIRST, SECOND_CALL = asks("search", {"q": "a"}, "c1"), asks("search", {"q": "a"}, "c2")


def asked_by(begun_ns: int) -> list[int | None]:
    """Two answers ask for the same; a tool ran after each, the second beginning so long after the second answer."""
    told = [HI, said("assistant", FIRST), returned("c1", 1)]
    first, second = chat(1, [HI], FIRST), chat(4, told, SECOND_CALL)
    ran = [tool(3, arguments={"q": "a"}, result=1), tool(5, arguments={"q": "a"}, result=2)]
    second.ended_at = 1_005 * SECOND + 500_000
    ran[1].started_at = 1_005 * SECOND + begun_ns
    return [call.asked_by for call in rows(agent(), first, second, *ran).tool_calls]


def test_a_clock_of_whole_milliseconds_rounds_down() -> None:
    assert asked_by(600_000) == [1, 2]
    assert asked_by(0) == [1, 2]
    # Another clock is exact: this began before it was asked for.
    assert asked_by(400_000) == [1, None, 2]


def flow(question: str, asked: str) -> str | None:
    root = act("invoke_workflow", 0, takes=100, span_id=f"{1:016x}", parent_span_id="", input__value=question)
    return rows(root, chat(1, [said("user", asked)], "Yes.")).runs[0].input


def test_a_question_has_no_quotes_where_the_model_was_given_it_without() -> None:
    assert flow('"How is Oslo?"', "How is Oslo?") == "How is Oslo?"
    assert flow('"How is Oslo?"', '"How is Oslo?"') == '"How is Oslo?"'
    assert flow('"How is Oslo?"', "Something else") == '"How is Oslo?"'


def test_what_a_span_and_the_details_of_its_events_say_is_json_where_the_span_says_only_json() -> None:
    texts = {"mlflow.spanType": '"AGENT"', "mlflow.spanInputs": '"How is Oslo?"'}
    details = Event(
        name="gen_ai.client.inference.operation.details", time_ns=1, attributes={"note": "It is not JSON."}
    )
    root = act("", 0, takes=100, span_id=f"{1:016x}", parent_span_id="")
    root.attributes, root.events = texts, [details]
    assert rows(root).runs[0].input == "How is Oslo?"
    root.attributes = {**texts, "note": "It is not JSON."}
    assert rows(root).runs[0].input == '"How is Oslo?"'


def _searched(*results: Any, told: object) -> Rows:
    spans: list[Span] = []
    given = [HI]
    for number, result in enumerate(results, 1):
        call = asks("search", {"q": "a"}, f"c{number}")
        spans.append(chat(number * 4, given, call))
        spans.append(tool(number * 4 + 2, arguments={"q": "a"}, gen_ai__tool__call__id=f"c{number}"))
        spans[-1].attributes = {**spans[-1].attributes, "gen_ai.tool.call.result": result}
        given = [*given, said("assistant", call), returned(f"c{number}", told if number == 1 else result)]
    return rows(agent(), *spans, chat(40, given, "Done."))


def test_a_result_has_no_quotes_where_the_model_was_told_it_without() -> None:
    (call,) = _searched('"none"', told="none").tool_calls
    assert call.result == "none"
    (call,) = _searched('"none"', told='"none"').tool_calls
    assert call.result == '"none"'


def test_a_text_is_doubted_where_the_same_call_then_returned_an_object() -> None:
    """One that reads like an error, or the only one that the tool returned, if the call was made again at once."""

    def doubts(*results: str) -> list[str]:
        found = _searched(*results, told=results[0])
        return [problem.raw for problem in found.problems if "may be an error" in problem.reason]

    assert doubts("Error: locked", '{"n": 1}') == ["Error: locked"]
    assert doubts("It is locked", '{"n": 1}') == ["It is locked"]
    assert doubts("It is open", "It is locked", '{"n": 1}') == []
    assert doubts("Error: locked", "Error: locked") == []


def test_an_agent_that_failed_is_called_as_other_agents_are() -> None:
    def names(outer: str, scope: str = "test") -> list[str | None]:
        around = act("", 1, takes=20, name=outer, status="error", span_id=f"{8:016x}")
        around.scope = scope
        inner = act("invoke_agent", 2, name="invoke_agent plan", inside=around.span_id)
        call = chat(4, [HI], "Yes.", inside=around.span_id, gen_ai__agent__name="")
        root = act("invoke_workflow", 0, takes=100, span_id=f"{1:016x}", parent_span_id="")
        return [call.agent_name for call in rows(root, around, inner, call).model_calls]

    assert names("invoke_agent orla") == ["orla"]
    assert names("orla") == ["invoke_workflow"]
    assert names("invoke_agent orla", "another") == ["invoke_workflow"]
