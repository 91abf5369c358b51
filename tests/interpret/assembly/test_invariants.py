"""Every invariant: a made run that breaks it and is listed, and one that nearly does and is not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from made_runs import act, agent, asks, chat, returned, rows, said, tool

from retrospan.ingest.interpret.spans.span import Span

ASKED = said("user", "How is Oslo?")
OSLO = {"city": "Oslo"}
SNOW = "It snows in Oslo, and it is three below zero."


def doubts(*spans: Span) -> list[tuple[str, str]]:
    """Return field and reason of each problem; the run's row has their number."""
    found = rows(*spans)
    assert found.runs[0].problems == len(found.problems)
    return [(problem.field, problem.reason) for problem in found.problems]


def one_doubt(*spans: Span) -> tuple[str, str]:
    (found,) = doubts(*spans)
    return found


def weather() -> list[Span]:
    """A whole run: asked, executed, answered."""
    call = asks("weather", OSLO, "c1")
    return [
        agent(),
        chat(1, [ASKED], call, gen_ai__response__finish_reasons=["tool_calls"]),
        tool(3, "weather", OSLO, "snow", gen_ai__tool__call__id="c1"),
        chat(5, [ASKED, said("assistant", call), returned("c1", "snow")], SNOW),
    ]


def test_a_run_that_holds_together_has_no_problem() -> None:
    assert doubts(*weather()) == []


@pytest.mark.parametrize("reason", ["tool_calls", "tool_use", "tool-calls", "TOOL_CALL", "function_call"])
def test_an_answer_that_ended_for_calls_holds_one(reason: str) -> None:
    root, read = agent(), {"gen_ai__response__finish_reasons": [reason]}
    assert one_doubt(root, chat(1, [ASKED], "I will look.", **read))[0] == "finish_reasons"
    asking = chat(1, [ASKED], "I will look.", asks("weather"), **read)
    assert one_doubt(root, asking)[1].endswith("and the run ended well")  # and no answer came after it
    # What is not on record is not doubtful; an API may call the end of an answer with calls a stop.
    assert doubts(root, chat(1, [ASKED], **read)) == []
    stopped = {"gen_ai__response__finish_reasons": ["stop"]}
    assert one_doubt(root, chat(1, [ASKED], asks("weather"), **stopped))[0] == "output"


def test_a_result_belongs_to_a_call_that_was_asked_for() -> None:
    again = [ASKED, said("assistant", asks("weather", OSLO, "c1")), returned("c2", "snow")]
    assert one_doubt(agent(), chat(1, again, SNOW)) == (
        "input_messages",
        "the result of a call that no answer before it asked for",
    )
    # The call may stand in the prompt, or be an answer before of which the prompt says nothing.
    again[-1] = returned("c1", "snow")
    assert doubts(agent(), chat(1, again, SNOW)) == []
    asked = chat(1, [ASKED], asks("weather", OSLO, "c1"))
    assert doubts(agent(), asked, chat(3, [ASKED, returned("c1", "snow")], SNOW)) == []


def test_an_api_that_keeps_the_history_keeps_the_call() -> None:
    kept = {"gen_ai__request__previous_response_id": "resp-1", "openai__api__type": "responses"}
    call = chat(1, [returned("c1", "snow")], SNOW, openai__request__previous_response_id="resp-1", **kept)
    found = rows(agent(), call)
    assert found.problems == []


def test_results_without_ids_are_no_more_than_calls() -> None:
    call = said("assistant", asks("weather", OSLO))
    first, last = chat(1, [ASKED], asks("weather", OSLO)), [ASKED, call, returned(None, "snow")]
    assert doubts(agent(), first, chat(3, last, SNOW)) == []
    # One result for the one call that a prompt leaves out is its own.
    assert doubts(agent(), first, chat(3, [ASKED, returned(None, "snow")], SNOW)) == []
    more = [ASKED, returned(None, "snow"), returned(None, "rain")]
    assert one_doubt(agent(), first, chat(3, more, SNOW)) == (
        "input_messages",
        "a result without id, and fewer calls before it than results",
    )
    # A model that asks in words of its own has no calls to compare with.
    for result in (returned(None, "snow"), said("tool", "snow")):
        assert doubts(agent(), chat(1, [ASKED], "Action: weather"), chat(3, [ASKED, result], SNOW)) == []


def test_a_message_of_a_tool_is_a_result() -> None:
    first = chat(1, [ASKED], asks("weather", OSLO, "c1"))
    called = [ASKED, said("assistant", asks("weather", OSLO, "c1"))]
    assert doubts(agent(), first, chat(3, [*called, said("tool", "snow")], SNOW)) == []
    picture: dict[str, object] = {"role": "tool", "parts": [{"type": "blob", "content": "c25vdw=="}]}
    assert one_doubt(agent(), first, chat(3, [*called, picture], SNOW)) == (
        "input_messages",
        "a message of a tool in which no result is read",
    )


def test_a_run_does_not_begin_with_results_unless_an_agent_was_given_them() -> None:
    given = [ASKED, said("assistant", asks("weather", OSLO, "c1")), returned("c1", "snow")]
    alone = chat(1, given, SNOW, parent_span_id="")
    assert one_doubt(alone)[1].startswith(
        "the first prompt ends with the result of a call that is not of this run"
    )
    assert doubts(agent(), chat(1, given, SNOW)) == []
    # A further turn of a conversation ends with its user.
    assert doubts(chat(1, [*given, said("assistant", SNOW), ASKED], SNOW, parent_span_id="")) == []


def _retold(answer: list[object], *told: object) -> list[tuple[str, str]]:
    first = chat(1, [ASKED], *answer)  # type: ignore[arg-type]
    return doubts(agent(), first, chat(3, [ASKED, *told, said("user", "And Bergen?")], "Rain."))  # type: ignore[list-item]


def test_an_answer_is_repeated_as_it_was_read() -> None:
    call, other = asks("weather", OSLO, "c1"), asks("weather", {"city": "Bergen"}, "c2")
    reason = ("output_messages", "the prompt of model call 2 repeats this answer, and not as it was read")
    assert _retold([call], said("assistant", call, other)) == [reason]
    assert _retold(["I will look."], said("assistant", "I will look.", call)) == [reason]
    assert _retold([call], said("assistant", "I will look.", call, other)) == [reason]
    assert _retold([SNOW], said("assistant", "Rain in Bergen.")) == [reason]


def test_a_repetition_may_leave_out_split_reorder_and_rename() -> None:
    call, other = asks("weather", OSLO, "c1"), asks("weather", {"city": "Bergen"}, "c2")
    assert _retold([SNOW, call, other], said("assistant", call)) == []
    assert _retold([call], said("assistant", "I will look.", call)) == []  # the answer is completed by it
    assert _retold([call, other], said("assistant", other, call)) == []
    assert _retold(["I will look.", call], said("assistant", "I will look."), said("assistant", call)) == []
    assert _retold([call], said("assistant", asks("mcp__forecast__weather", OSLO, "renamed"))) == []
    spaced = said("assistant", SNOW.replace(" ", "  "))
    assert _retold([SNOW + "\n"], spaced) == []
    assert _retold([SNOW], spaced, said("assistant", call)) == []  # and goes on
    assert _retold(['{"a": 1, "b": 2}'], said("assistant", '{"b": 2, "a": 1}')) == []
    # Calls told as text; and somebody else's words.
    assert _retold([call], said("assistant", "Calling tools: weather of Oslo")) == []
    assert _retold([SNOW], {**said("assistant", "Rain in Bergen."), "name": "milo"}) == []


def test_of_several_tries_one_goes_on() -> None:
    first, second = chat(1, [ASKED], SNOW), chat(2, [ASKED], "Let me think again.")
    told = [ASKED, said("assistant", f"{SNOW} Really."), said("user", "And Bergen?")]
    assert doubts(agent(), first, second, chat(5, told, "Rain.")) == []


@pytest.mark.parametrize(
    "text",
    [
        "ChatMessage(_role=<ChatRole.USER: 'user'>, _content=[TextContent(text='How is Oslo?')])",
        "<__main__.Answer object at 0x7f3e91d0a4b3>",
    ],
)
def test_a_printed_object_is_not_what_somebody_said(text: str) -> None:
    assert one_doubt(agent(), chat(1, [said("user", text)], SNOW)) == (
        "input_messages",
        "a text that is a printed object",
    )
    assert one_doubt(agent(), chat(1, [ASKED], text))[0] == "output_messages"


def test_a_model_does_not_answer_in_python() -> None:
    printed = "[{'role': 'assistant', 'content': 'It snows.', 'note': datetime(2026, 1, 1)}]"
    assert one_doubt(agent(), chat(1, [ASKED], printed))[0] == "output_messages"


@pytest.mark.parametrize(
    "text",
    [
        "ChatMessage(role='user', content='How is",  # half of one
        "What does Message(role='user', content='hi') print?",
        "Why do I see <__main__.Answer object at 0x7f3e91d0a4b3> here?",
        '[{"type": "tool_call", "id": "c9", "name": "weather", "arguments": {}}]',
        '[{"role": "assistant", "tool_calls": [{"id": "c9", "function": {"name": "weather"}}]}]',
        "[{'role': 'user', 'content': 'How is Oslo?'}]",
        "user: How is Oslo?\nassistant: It snows.\ntool: call c9 returned snow",
    ],
)
def test_what_people_paste_is_what_they_say(text: str) -> None:
    pasted = said("user", text)
    found = rows(agent(), chat(1, [pasted], SNOW))
    assert found.problems == []
    assert json.loads(found.values[0].json)["parts"] == [{"type": "text", "content": text}]


def test_a_result_that_looks_like_messages_is_a_result() -> None:
    call = asks("read_chat", {}, "c1")
    for chats in (
        [{"role": "assistant", "tool_calls": [{"id": "c9", "function": {"name": "weather"}}]}],
        "[{'role': 'tool', 'tool_call_id': 'c9', 'content': 'snow'}]",
    ):
        spans = [
            chat(1, [ASKED], call),
            tool(3, "read_chat", {}, chats, gen_ai__tool__call__id="c1"),
            chat(5, [ASKED, said("assistant", call), returned("c1", chats)], SNOW),
        ]
        found = rows(agent(), *spans)
        assert found.problems == [] and len(found.tool_calls) == 1


def test_an_agent_executes_what_its_model_asked_for() -> None:
    more = tool(4, "weather", {"city": "Bergen"}, "rain")
    assert one_doubt(*weather(), more) == (
        "tool_calls",
        "this execution was asked for by no answer that is read",
    )
    # Another tool where nothing says which there are; one that the model was never offered.
    assert one_doubt(*weather(), tool(4, "search", {}, "rain"))[0] == "tool_calls"
    offered = json.dumps([{"type": "function", "name": "weather"}])
    first = chat(1, [ASKED], asks("weather", OSLO, "c1"), gen_ai__tool__definitions=offered)
    assert doubts(agent(), first, *weather()[2:], tool(4, "search", {}, "rain")) == []


def test_an_execution_may_be_tried_again_or_be_of_the_program() -> None:
    call = asks("weather", OSLO)
    first = chat(1, [ASKED], call)
    failed = tool(3, "weather", OSLO, error="Timeout", status="error")
    again = tool(5, "weather", OSLO, "snow")
    assert doubts(agent(), first, failed, again) == []
    # Below a step, or in another tool, the program may execute what it likes.
    step = act("", 3.2, takes=2, span_id=f"{900:016x}", name="prepare", langgraph_node="prepare")
    step.attributes = {"openinference.span.kind": "CHAIN"}
    inside = tool(3.5, "weather", {"city": "Bergen"}, "rain", inside=step.span_id)
    assert doubts(*weather(), step, inside) == []
    outer = tool(3.2, "forecast", {}, "rain", span_id=f"{901:016x}")
    nested = tool(3.5, "weather", {"city": "Bergen"}, "rain", inside=outer.span_id)
    assert [field for field, _ in doubts(*weather(), outer, nested)] == ["tool_calls"]  # the outer one


def test_a_span_called_like_a_call_is_its_execution() -> None:
    first, last = chat(1, [ASKED], asks("weather", OSLO, "c1")), chat(5, [ASKED], SNOW)
    # Which of two it is cannot be known.
    both = act("", 3, name="weather"), act("", 4, name="weather")
    assert [field for field, _ in doubts(agent(), first, *both, last)] == ["tool_calls", "tool_calls"]
    again = "the prompt before it again, though tools ran that its answer asked for"
    assert one_doubt(agent(), first, both[0], last) == ("input_messages", again)
    assert doubts(agent(), first, act("", 3, name="GET /weather"), last) == []
    assert doubts(*weather(), act("", 3, name="weather")) == []
    # An agent may be a tool.
    assert doubts(agent(), first, act("invoke_agent", 3, name="weather"), last) == []
    told = chat(5, [ASKED, said("assistant", asks("weather", OSLO, "c1")), returned("c1", "snow")], SNOW)
    assert doubts(agent(), first, act("", 3, name="weather"), told) == []


def test_one_model_call_is_one_answer() -> None:
    call = chat(1, [ASKED], SNOW, span_id=f"{7:016x}", takes=5)
    below = [act("", at, name="raw", inside=call.span_id, llm__openai__id=f"resp-{at}") for at in (2, 3)]
    assert one_doubt(agent(), call, *below)[0] == "model_calls"
    assert doubts(agent(), call, below[0]) == []


def test_the_total_of_an_agent_is_the_sum_of_its_calls() -> None:
    def run(total: int, *given: int | None, history: bool = False) -> list[tuple[str, str]]:
        before = [ASKED, said("assistant", SNOW)] if history else []
        calls = [
            chat(
                at,
                [*before, ASKED],
                SNOW,
                **({} if count is None else {"gen_ai__usage__input_tokens": count}),
            )
            for at, count in enumerate(given, start=1)
        ]
        return doubts(agent(gen_ai__usage__input_tokens=total), *calls)

    assert run(310, 100, 200) == [
        ("input_tokens", "the total is not the sum of the 2 model calls inside: 300")
    ]
    assert run(250, 100, 200, history=True) != []
    assert run(300, 100, 200) == []
    assert run(200, 100, 200) == []  # of the last call
    assert run(310, 100, None) == []  # one is not known
    cached = {"gen_ai__usage__input_tokens": 100, "gen_ai__usage__cache_read__input_tokens": 40}
    calls = [chat(at, [ASKED], SNOW, **cached) for at in (1, 3)]
    assert doubts(agent(gen_ai__usage__input_tokens=120), *calls) == []
    assert run(900, 100, 200, history=True) == []  # since the conversation began
    assert run(310) == []
    for side in ("input", "output"):
        counted = f"gen_ai__usage__{side}_tokens"
        calls = [chat(at, [ASKED], SNOW, **{counted: count}) for at, count in ((1, 100), (3, 200))]
        near: Any
        for near in (298, 299, 301, 302):
            total: dict[str, Any] = {counted: near}
            assert one_doubt(agent(**total), *calls)[0] == f"{side}_tokens"


def test_a_total_may_leave_out_the_calls_of_an_agent_inside() -> None:
    inner = act("invoke_agent", 2, takes=20, span_id=f"{5:016x}", gen_ai__usage__input_tokens=200)
    inner.attributes = {**inner.attributes, "gen_ai.agent.name": "milo"}
    calls = [
        chat(1, [ASKED], SNOW, gen_ai__usage__input_tokens=60),
        chat(2, [ASKED], SNOW, gen_ai__usage__input_tokens=40),
        chat(
            3,
            [ASKED],
            SNOW,
            gen_ai__usage__input_tokens=200,
            inside=inner.span_id,
            gen_ai__agent__name="milo",
        ),
    ]
    for total, wrong in ((100, 0), (300, 0), (250, 1)):
        assert len(doubts(agent(gen_ai__usage__input_tokens=total), inner, *calls)) == wrong


def test_a_run_of_unknown_tokens_returned_no_count_of_them() -> None:
    def run(returned: object) -> list[tuple[str, str]]:
        root = agent(openinference__span__kind="AGENT", output__value=json.dumps(returned))
        return doubts(root, chat(1, [ASKED], SNOW))

    assert run({"raw": SNOW, "token_usage": {"prompt_tokens": 300}}) == [
        ("input_tokens", "a count of tokens that is not read")
    ]
    assert run({"raw": SNOW, "token_usage": {"prompt_tokens": 0}}) == []
    assert run({"raw": SNOW, "token_usage": {"prompt_tokens": "a few"}}) == []
    assert run({"raw": f'{SNOW} "prompt_tokens": 300'}) == []


def test_a_run_that_ended_well_did_not_end_with_a_failure() -> None:
    def run(*more: Span, error: str = "") -> list[tuple[str, str]]:
        root = agent(takes=50, error=error, **({"status": "error"} if error else {}))
        inner = act("invoke_agent", 1, takes=20, span_id=f"{5:016x}", error="BadRequest", status="error")
        return doubts(root, inner, chat(2, [ASKED], asks("weather", OSLO), inside=inner.span_id), *more)

    assert [field for field, _ in run()] == ["outcome", "output"]
    assert [field for field, _ in run(chat(30, [ASKED], asks("weather", OSLO)))] == [
        "output"
    ]  # another went on
    assert run(chat(4, [ASKED], SNOW)) == []  # there is an answer
    assert run(error="BadRequest") == []  # the run says so


def test_the_root_returned_the_answer() -> None:
    marked = f"## thoughts ##\nThe tool said so.\n## answer ##\n{SNOW}"

    def run(answer: str, returned: object, **more: Any) -> list[tuple[str, str]]:
        root = agent(openinference__span__kind="AGENT", output__value=json.dumps(returned), **more)
        return doubts(root, chat(1, [ASKED], answer))

    reason = "the root returned only this part of what is read as the answer"
    assert run(marked, {"summary": SNOW}) == [("output", reason)]
    assert run(marked, {"answer": SNOW}) == []  # its name says that it is all of the answer
    assert run(marked, {"summary": SNOW, "history": [marked]}) == []
    assert run(SNOW, {"answer": SNOW}) == []
    failed = run(marked, {"summary": SNOW}, error="Timeout", status="error")
    assert reason not in [told for _, told in failed]  # one that failed may return anything
    assert run(marked, {"city": "Oslo"}) == []  # the program made something else of it
    for form in ("{}", "```json\n{}\n```"):  # an object, opened
        assert run(form.format(json.dumps({"answer": SNOW, "sure": True})), {"answer": SNOW}) == []


def test_an_agent_asks_for_a_model_by_one_name() -> None:
    def calls(first: str, second: str, answered: str | None) -> list[tuple[str, str]]:
        models = {
            "gen_ai__request__model": first,
            **({"gen_ai__response__model": answered} if answered else {}),
        }
        one = chat(1, [ASKED], SNOW, **models)
        other = {"gen_ai__response__model": second} if answered else {}
        return doubts(agent(), one, chat(3, [ASKED], SNOW, gen_ai__request__model=second, **other))

    assert [field for field, _ in calls("m-2024-07-18", "m", "m-2024-07-18")] == ["request_model"]
    assert calls("m-mini", "m", "m-mini") == []
    assert calls("m-2024-07-18", "m", None) == []  # asked for in so many words, for all that is known
    assert calls("m-2024-07-18", "m-2024-07-18", "m-2024-07-18") == []


def test_a_name_of_an_agent_is_not_random() -> None:
    name = "Crew_cf5e51a6-d4fd-462d-a1e2-1cc34bc5f1ee"
    root = agent(name=f"{name}.kickoff", gen_ai__agent__name=name)
    assert one_doubt(root, chat(1, [ASKED], SNOW))[0] == "agent_name"
    assert doubts(agent(name="run", gen_ai__agent__name=name), chat(1, [ASKED], SNOW)) == []  # it says so
    assert doubts(agent(name="Crew_7.kickoff", gen_ai__agent__name="Crew_7"), chat(1, [ASKED], SNOW)) == []


def test_a_result_told_around_the_calls_names_its_call() -> None:
    told = json.dumps([returned(None, "I will look.")])
    assert one_doubt(*weather(), act("invoke_agent", 4, gen_ai__input__messages=told))[0] == "result"
    nameless = chat(1, [ASKED], asks("weather", OSLO))
    around = act("invoke_agent", 4, gen_ai__input__messages=told)
    assert [field for field, _ in doubts(agent(), nameless, around)] == ["output"]
    named = json.dumps([returned("c1", "snow")])
    assert doubts(*weather(), act("invoke_agent", 4, gen_ai__input__messages=named)) == []


def test_a_prompt_tells_the_results_of_calls_that_had_been_executed() -> None:
    call = asks("weather", OSLO, "c1")
    asked = chat(1, [ASKED], call)

    def run(*told: dict[str, object], takes: float = 1, error: str = "") -> list[tuple[str, str]]:
        how: dict[str, str] = {"error": error, "status": "error"} if error else {}
        done = tool(3, "weather", OSLO, "snow", gen_ai__tool__call__id="c1", takes=takes, **how)
        again = chat(5, [ASKED, said("assistant", call), *told], SNOW)
        return doubts(agent(), asked, *([done] if takes else []), again)

    reason = "a call that had been executed is repeated, and no result of it is told"
    assert run() == run(said("user", "Well?")) == [("input_messages", reason)]
    assert run(returned("c1", "snow")) == []
    assert run(returned(None, "snow")) == []  # whose it is, it does not say
    assert run(takes=10) == []  # the prompt is of something inside the execution
    assert run(said("user", "Stop!"), takes=0) == []
    assert run(error="Timeout") == []  # there was none to tell


def test_the_answers_that_a_prompt_adds_are_of_the_run() -> None:
    call, other = asks("weather", OSLO, "c1"), asks("weather", {"city": "Bergen"}, "c2")
    told = [ASKED, said("assistant", call), returned("c1", "snow")]
    more = [said("assistant", other), returned("c2", "rain")]

    def run(*answers: dict[str, object], first: dict[str, object] = call) -> list[str]:
        found = doubts(agent(), chat(1, [ASKED], first), chat(9, [*told, *answers], SNOW))
        return [reason for _, reason in found]

    assert run(*more) == ["a call that no answer of this run asked for stands among its answers"]
    assert run() == []
    assert run(*more, said("user", "And now?")) == []  # of another turn
    assert run(*more, first=asks("weather", OSLO)) == run(*more)  # the prompt completes the id of the first
    assert (
        doubts(agent(), chat(1, [*told, *more], "Snow."), chat(9, [*told, *more], SNOW)) == []
    )  # known before


def test_tokens_of_an_answer_are_of_one_that_is_read() -> None:
    def run(**more: object) -> list[tuple[str, str]]:
        return doubts(agent(), chat(1, [ASKED], SNOW), chat(3, [ASKED], **more))

    assert [field for field, _ in run(gen_ai__usage__output_tokens=9)] == ["output_messages"]
    assert run() == []
    assert run(gen_ai__usage__output_tokens=9, error="Cut", status="error") == []
    # Where no answer is on record, that is a choice.
    assert doubts(agent(), chat(1, [ASKED], gen_ai__usage__output_tokens=9)) == []


def test_what_a_model_said_is_the_answer_of_a_call() -> None:
    def run(returned: object, *more: Span) -> list[tuple[str, str]]:
        return doubts(agent(gen_ai__completion=json.dumps(returned)), *more)

    message = {"role": "assistant", "content": SNOW}
    assert [field for field, _ in run({"response": message})] == ["output"]
    assert [field for field, _ in run([[{"last": message}]])] == ["output"]
    assert run({"response": message}, chat(1, [ASKED], SNOW)) == []
    assert run({"response": {"role": "user", "content": SNOW}}) == []
    assert run({"role": "clerk"}) == []


def test_an_execution_has_the_id_of_its_call() -> None:
    def run(asked: str | None, executed: str | None) -> list[tuple[str, str]]:
        named = {} if executed is None else {"gen_ai__tool__call__id": executed}
        return doubts(
            agent(), chat(1, [ASKED], asks("weather", OSLO, asked)), tool(3, "weather", OSLO, **named)
        )

    assert run("fc_1", "call_1") == [
        ("tool_call_id", "the execution has this id, and the call that seems to have asked for it fc_1")
    ]
    assert run("c1", "c1") == run(None, "c1") == run("c1", None) == []


def test_a_total_of_a_model_call_is_its_input_and_output() -> None:
    def run(total: int, **more: int) -> list[tuple[str, str]]:
        counts = {"input_tokens": 100, "output_tokens": 20, "total_tokens": total, **more}
        return doubts(
            agent(), chat(1, [ASKED], SNOW, **{f"gen_ai__usage__{key}": n for key, n in counts.items()})
        )

    assert run(127) == [("input_tokens", "the total is not 100 tokens of input and 20 of output")]
    assert run(120) == run(0) == []
    assert run(127, reasoning__output_tokens=7) == []
    assert run(90, cache_read__input_tokens=30) == run(150, cache_read__input_tokens=30) == []


def test_the_root_returned_no_other_answer() -> None:
    def run(returned: str) -> list[tuple[str, str]]:
        root = agent(gen_ai__output__messages=json.dumps([said("assistant", returned)]))
        return doubts(root, chat(1, [ASKED], SNOW), chat(3, [ASKED], "Stored."))

    assert run(SNOW) == [("output", "the root returned this, and not the last answer")]
    assert run("Stored.") == run("Store") == run(f"{SNOW}\n\nStored .") == run("") == []


def test_calls_of_one_agent_say_the_same_of_themselves() -> None:
    def calls(first: dict[str, Any], second: dict[str, Any], error: str = "") -> list[str]:
        models = ({f"gen_ai__{key}__model": name for key, name in each.items()} for each in (first, second))
        one, other = models
        how: dict[str, Any] = {"error": error, "status": "error"} if error else {}
        answer = [] if error else [SNOW]
        again = chat(3, [ASKED], *answer, **other, **how)
        return [field for field, _ in doubts(agent(), chat(1, [ASKED], SNOW, **one), again)]

    both = {"request": "m", "response": "m-2024-07-18"}
    assert calls(both, both) == []
    assert calls(both, {"request": "m"}) == ["response_model"]
    assert calls(both, {"request": "m"}, error="Timeout") == []  # none answered
    assert calls(both, {}, error="Timeout") == ["request_model"]
    # One name for both says of neither that it was asked for.
    assert calls({"request": "m", "response": "m"}, {"response": "m"}) == []


def test_a_call_gives_no_messages_where_others_do() -> None:
    bare = chat(3, (), SNOW)
    assert [field for field, _ in doubts(agent(), chat(1, [ASKED], SNOW), bare)] == ["input_messages"]
    assert doubts(agent(), bare) == []


def test_a_call_whose_execution_nothing_shows_is_listed() -> None:
    first, call = asks("weather", OSLO, "c1"), asks("weather", {"city": "Bergen"}, "c2")
    told = [ASKED, said("assistant", first), returned("c1", "snow")]
    run = agent(), chat(1, [ASKED], first), chat(3, told, call)
    assert [field for field, _ in doubts(*run)] == ["tool_calls", "output"]
    executed = tool(2, "weather", OSLO, "snow", gen_ai__tool__call__id="c1")
    # Executions have spans: this one has none.
    assert [field for field, _ in doubts(*run, executed)] == ["output"]
    assert [field for field, _ in doubts(agent(), chat(1, [ASKED], first))] == [
        "output"
    ]  # nothing is known of any


@pytest.mark.parametrize(
    ("message", "is_doubted"),
    [
        ('[{"code": "invalid_type", "path": ["structuredContent"], "message": "expected record"}]', True),
        ("Invalid structured content returned by tool weather: 3 is not of type 'object'", True),
        ("Output validation error: outputSchema defined but no structured output returned", True),
        ("Tool weather has an output schema but did not return structured content", True),
        ("Input validation error: 'city' is a required property", False),
        ("no such city", False),
    ],
)
def test_a_result_that_the_client_refused_may_be_a_success(message: str, is_doubted: bool) -> None:
    failed = tool(3, "weather", OSLO, error="ToolError", gen_ai__tool__call__id="c1", status_message=message)
    failed.events.clear()
    call = asks("weather", OSLO, "c1")
    last = chat(5, [ASKED, said("assistant", call), returned("c1", message)], SNOW)
    found = doubts(agent(), chat(1, [ASKED], call), failed, last)
    assert [field for field, reason in found if "refused" in reason] == ["tool_calls"] * is_doubted


def test_a_run_that_ended_well_was_answered() -> None:
    first, *others = weather()[1:]
    untold = chat(5, [ASKED, said("assistant", asks("weather", OSLO, "c1")), returned("c1", "snow")])
    assert one_doubt(agent(), first, others[0], untold)[1].startswith("nothing tells what the last request")
    assert doubts(agent(error="Timeout"), first, others[0], untold) == []
    # What is not recorded at all is not doubted.
    assert doubts(agent(), chat(1), chat(3)) == []


def test_a_prompt_in_a_run_without_model_calls_is_one_that_was_not_read() -> None:
    prompt = json.dumps([{"role": "user", "content": "How is Oslo?"}])
    assert one_doubt(agent(), act("", 1, sent=prompt))[0] == "model_calls"
    assert doubts(agent(), act("", 1, sent="How is Oslo?")) == []
    assert doubts(agent(), act("", 1, sent=prompt), chat(3, [ASKED], SNOW)) == []
