"""What guardrails and evaluations say is not what the agent answered; and what agents return after failures, or beside it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from made_runs import act, agent, asks, chat, returned, rows, said, tool

from retrospan.ingest.interpret.spans.span import Span

HI = said("user", "Hi")
HELLO = "Hello, I can help."
TRIPPED = "Guardrail tripwire triggered: {'guardrail': 'relevance'}"
OUTER, INNER = "e" * 16, "d" * 16


def ended(*spans: Span) -> tuple[str, str | None]:
    run = rows(*spans).runs[0]
    return run.outcome, run.output


def answered(at: float = 1, inside: str = "") -> Span:
    return chat(at, [HI], HELLO, inside=inside)


def judged(
    given: str, verdict: str, at: float = 5, *, kind: str = "", name: str = "pii", inside: str = ""
) -> list[Span]:
    """A span around an agent of its own, which asks a model about what was said."""
    kinds = {"openinference__span__kind": kind} if kind else {}
    guard = act("", at, takes=5, span_id=OUTER, name=name, inside=inside, **kinds)
    checker = act(
        "invoke_agent",
        at + 1,
        takes=4,
        span_id=INNER,
        inside=OUTER,
        name="checker",
        gen_ai__agent__name="checker",
    )
    return [
        guard,
        checker,
        chat(at + 2, [said("user", given)], verdict, inside=INNER, gen_ai__agent__name="checker"),
    ]


@pytest.mark.parametrize(
    "how",
    [
        {"kind": "GUARDRAIL"},
        {"kind": "EVALUATOR"},
        {"name": "pii_guardrail"},
        {"name": "PiiGuardrail"},
        {"name": "Guardrail: pii"},
        {"kind": "CHAIN"},
    ],
    ids=str,
)
def test_what_judges_an_answer_is_not_the_answer(how: dict[str, Any]) -> None:
    given = HELLO if how == {"kind": "CHAIN"} else f"Rate: {HELLO}"
    assert ended(agent(), answered(), *judged(given, '{"has_pii": false}', **how)) == ("ok", HELLO)


@pytest.mark.parametrize("operation", ["guardrail", "apply_guardrail", "evaluate"])
def test_operations_that_judge_are_told_by_the_conventions(operation: str) -> None:
    judge = act(operation, 5, span_id=OUTER, takes=4)
    asked = chat(6, [said("user", f"Rate: {HELLO}")], "score: 1", inside=OUTER)
    assert ended(agent(), answered(), judge, asked) == ("ok", HELLO)


@pytest.mark.parametrize(
    ("given", "said_of_it", "how"),
    [
        (f"Translate: {HELLO}", "Bonjour.", {"kind": "CHAIN"}),
        (HELLO, "Bonjour.", {"kind": "CHAIN"}),
        (HELLO, '{"text": "Bonjour."}', {"kind": "CHAIN"}),
        (HELLO, '{"is_kind": true, "stars": 4}', {"kind": "CHAIN"}),
        (f"Rate: {HELLO}", '{"kind": true}', {"kind": "CHAIN"}),
        (f"Rate: {HELLO}", "Bonjour.", {"name": "guardrails.request"}),
        (f"Rate: {HELLO}", "Bonjour.", {"name": "guardrailed"}),
    ],
)
def test_a_step_that_goes_on_from_an_answer_answers(given: str, said_of_it: str, how: dict[str, Any]) -> None:
    assert ended(agent(), answered(), *judged(given, said_of_it, **how)) == ("ok", said_of_it)


def test_a_verdict_in_a_step_beside_the_agent_is_no_judgement_of_its_answer() -> None:
    root = act("", 0, takes=100, span_id=f"{1:016x}", parent_span_id="")
    first = act("invoke_agent", 0, takes=3, span_id="c" * 16)
    steps = judged(HELLO, '{"done": true}', kind="CHAIN")
    assert ended(root, first, answered(inside="c" * 16), *steps) == ("ok", '{"done": true}')


def test_a_run_that_only_judges_has_what_it_said_as_its_output() -> None:
    root = act(
        "", 0, takes=100, span_id=f"{1:016x}", parent_span_id="", openinference__span__kind="EVALUATOR"
    )
    assert ended(root, chat(1, [HI], "score: 1")) == ("ok", "score: 1")
    # All that an agent asks a model may be asked through a guardrail; and one of its requests may.
    wrapped = act("guardrail", 1, span_id=OUTER, takes=9)
    assert ended(agent(), wrapped, chat(2, [HI], HELLO, inside=OUTER)) == ("ok", HELLO)
    asking = chat(1, [HI], asks("search", {}, "c1"))
    called = [HI, said("assistant", asks("search", {}, "c1")), returned("c1", "found")]
    wrapped = act("guardrail", 5, span_id=OUTER, takes=9)
    last = chat(6, called, HELLO, inside=OUTER)
    assert ended(agent(), asking, tool(3, call_id="c1"), wrapped, last) == ("ok", HELLO)


def test_the_input_and_the_last_history_are_those_of_the_agent() -> None:
    checked = judged("Is this kind: Hi", '{"kind": true}', 0.1, kind="GUARDRAIL")
    run = rows(agent(), *checked, chat(20, [HI], HELLO)).runs[0]
    assert (run.input, run.output) == ("Hi", HELLO)
    after = judged(f"Rate: {HELLO}", "score: 1", kind="EVALUATOR")
    alone = rows(agent(), answered())
    assert rows(agent(), answered(), *after).runs[0].final_history_hash == alone.runs[0].final_history_hash


@pytest.mark.parametrize("kind", ["CHAIN", "GUARDRAIL"])
@pytest.mark.parametrize("is_answered", [False, True])
def test_an_agent_that_a_guardrail_stopped_failed(kind: str, is_answered: bool) -> None:
    root = act(
        "",
        0,
        takes=100,
        span_id=f"{1:016x}",
        parent_span_id="",
        openinference__span__kind="AGENT",
        status="ok",
    )
    stopped = act("invoke_agent", 0.5, takes=50, span_id="c" * 16, status="error", gen_ai__agent__name="orla")
    stopped.status_message = TRIPPED
    guard = judged("Hi", '{"relevant": false}', 4, kind=kind, name="relevance", inside="c" * 16)
    answer = [answered(inside="c" * 16)] if is_answered else []
    found = rows(root, stopped, *answer, *guard)
    assert (found.runs[0].outcome, found.runs[0].output) == ("error", HELLO if is_answered else None)
    assert [failure.handled for failure in found.failures] == [False]


def test_an_error_about_a_guardrail_tells_of_no_other_step() -> None:
    stopped = agent(error="Stopped", status="error")
    stopped.events = []
    stopped.status_message = TRIPPED
    drafted = judged("Hi", "A draft.", kind="CHAIN", name="draft")
    assert ended(stopped, *drafted) == ("error", "A draft.")


def inner(at: float, takes: float, mark: str, error: str = "") -> list[Span]:
    one = act("invoke_agent", at, takes=takes, span_id=mark * 16, error=error, gen_ai__agent__name=mark)
    return [one, chat(at + 1, [HI], HELLO, inside=mark * 16, gen_ai__agent__name=mark)]


def test_the_last_agent_decides_how_a_run_ended_also_where_it_had_answered() -> None:
    bus = act("", 0, takes=100, span_id=f"{1:016x}", parent_span_id="", status="ok")
    assert ended(bus, *inner(1, 9, "a", "Boom"))[0] == "error"
    assert ended(bus, *inner(1, 9, "a", "Boom"), *inner(20, 9, "b"))[0] == "ok"
    assert ended(bus, *inner(1, 9, "a", "Boom"), chat(20, [HI], "Sorry."))[0] == "ok"
    # Another had answered; the agent around went on from the failure, as far as anybody says.
    beside = act("invoke_agent", 20, takes=9, error="Boom", gen_ai__agent__name="b")
    assert ended(bus, *inner(1, 9, "a"), beside)[0] == "ok"
    assert ended(agent(), *inner(1, 9, "a", "Boom"))[0] == "ok"


def test_an_evaluator_that_failed_does_not_fail_the_run() -> None:
    bus = act("", 0, takes=100, span_id=f"{1:016x}", parent_span_id="")
    guard, checker, asked = judged(f"Rate: {HELLO}", "1", 30, kind="EVALUATOR")
    checker.status = "error"
    assert ended(bus, *inner(1, 9, "a"), guard, checker, asked) == ("ok", HELLO)
    # Where nothing else is in the run, the evaluation is what ran.
    assert ended(bus, guard, checker, asked) == ("error", "1")
    # Nor where it judges what a tool came to, with which the agent ended.
    one = inner(1, 9, "a")[0]
    asking = chat(2, [HI], asks("search", {}, "c1"), inside=one.span_id)
    ran = tool(4, inside=one.span_id, gen_ai__tool__call__id="c1")
    assert ended(bus, one, asking, ran, guard, checker, asked) == ("ok", None)


def told(*messages: dict[str, object], **more: Any) -> Span:
    return agent(gen_ai__output__messages=json.dumps(messages), **more)


def test_what_the_agent_returned_is_the_answer_where_it_said_that_before() -> None:
    title = chat(9, [said("user", f"A title for: Hi / {HELLO}")], "Greeting")
    root = told(said("assistant", HELLO))
    assert ended(root, answered(), title) == ("ok", HELLO)
    assert ended(root, answered(), chat(9, [HI], f"{HELLO} Gladly.")) == ("ok", f"{HELLO} Gladly.")
    # It returned what nobody said so, the last answer itself, or does not end with an answer.
    assert ended(told(said("assistant", "Bye.")), answered(), title) == ("ok", "Greeting")
    assert ended(told(said("assistant", "Greeting")), answered(), title) == ("ok", "Greeting")
    asked = said("assistant", asks("search"))
    assert ended(told(said("assistant", HELLO), asked), answered(), title) == ("ok", "Greeting")
    # What a sub-agent returned is not what the run came to.
    sub = act(
        "invoke_agent",
        0.5,
        takes=50,
        span_id="c" * 16,
        gen_ai__output__messages=root.attributes["gen_ai.output.messages"],
    )
    title.parent_span_id = "c" * 16
    assert ended(agent(), sub, answered(inside="c" * 16), title) == ("ok", "Greeting")


def test_what_an_agent_returned_that_got_over_a_failed_request_is_its_answer() -> None:
    failed = chat(3, [HI], error="500")
    sorry = said("assistant", "Sorry, try later.")
    assert ended(told(sorry, status="ok"), failed) == ("ok", "Sorry, try later.")
    assert ended(told(sorry), failed) == ("error", None)  # nobody says that it ended well
    assert ended(told(sorry, status="ok", takes=3.5), failed) == ("error", None)  # before that request did
    error = said("assistant", "ValueError: no such field")
    assert ended(told(error, status="ok"), failed) == ("error", None)
    failed.events = [replace(failed.events[0], attributes={"exception.message": "no such field"})]
    assert ended(told(said("assistant", "It broke: no such field."), status="ok"), failed) == ("error", None)
    # What was said on the way is no answer.
    looking = chat(1, [HI], "Let me look.", asks("search"))
    assert ended(told(said("assistant", "Let me look."), status="ok"), looking, failed) == ("error", None)
