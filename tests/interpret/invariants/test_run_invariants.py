"""Invariants of a whole run, its totals and its names: a made run that breaks one and is listed, and one that nearly does and is not."""

from __future__ import annotations

import json
from typing import Any

from doubted import ASKED, OSLO, SNOW, doubts, one_doubt, weather
from made_runs import act, agent, asks, chat, returned, said, tool

from retrospan.ingest.interpret.spans.span import Span


def test_a_run_that_holds_together_has_no_problem() -> None:
    assert doubts(*weather()) == []


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

    assert run("Nothing.") == [("output", "the root returned this, and not the last answer")]
    assert run(SNOW) == []  # it said that before, and it is the answer
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


def test_a_run_that_ended_well_was_answered() -> None:
    first, *others = weather()[1:]
    untold = chat(5, [ASKED, said("assistant", asks("weather", OSLO, "c1")), returned("c1", "snow")])
    assert one_doubt(agent(), first, others[0], untold)[1].startswith("nothing tells what the last request")
    assert doubts(agent(error="Timeout"), first, others[0], untold) == []
    # What is not recorded at all is not doubted.
    assert doubts(agent(), chat(1), chat(3)) == []


def test_an_agent_that_a_model_refused_made_a_request() -> None:
    said = "no request is told here"
    for error in ("ContextWindowExceeded", "LLM: Error code: 400 - {'error': {}}", "content_filter"):
        root = agent(error=error)
        assert one_doubt(root)[1].endswith(said), error
        assert doubts(root, chat(1, [ASKED], SNOW)) == []
    for error in ("Error code: 400", "the context is missing", ""):
        assert doubts(agent(error=error)) == []


def test_an_answer_that_asks_for_a_tool_in_its_text_did_not_ask_in_vain_unseen() -> None:
    asking = "I look.\nAction: weather\nAction Input: Oslo"
    fields = "[[ ## next_tool_name ## ]]\nweather\n\n[[ ## next_tool_args ## ]]\n{}"  # without instructions for them
    for text in (asking, fields):
        assert one_doubt(agent(), chat(1, [ASKED], text))[0] == "tool_calls"
    for text in ("Action: none", "What is an Action: x?", SNOW):
        assert doubts(agent(), chat(1, [ASKED], text)) == []
    assert "tool_calls" not in [field for field, _ in doubts(*weather(), chat(7, [ASKED], asking))]


def test_an_answer_that_no_request_gave_may_be_of_one_that_is_told_nowhere() -> None:
    def run(answer: str, result: object = "snow", arguments: object = OSLO) -> list[str]:
        call = asks("weather", arguments, "c1")
        top = agent(gen_ai__output__messages=json.dumps([said("assistant", answer)]))
        ran = tool(3, "weather", arguments, result, gen_ai__tool__call__id="c1")
        return [
            reason for field, reason in doubts(top, chat(1, [ASKED], call), ran) if field == "model_calls"
        ]

    assert run(SNOW) == [
        "it is said to be the answer, and no request that is told answered it, nor did a tool return it"
    ]
    assert run(SNOW, SNOW) == []  # the tool's result ended the run
    assert run(f"Here: {SNOW}", SNOW) == []
    assert run(SNOW, None, {"answer": SNOW}) == []  # a tool that takes the answer
    assert doubts(*weather()) == []
