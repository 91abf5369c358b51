"""Runs, steps and states: what is on whose span, in threads and processes, and without a provider."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from fix_spans import Sent, said, span_id, trace_id
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

from retrospan.exporter import recording as r
from retrospan.schemas import attributes as names


@dataclass
class Basket:
    items: int = 0


def test_a_run_names_itself_and_its_parts_belong_to_it(sent: Sent) -> None:
    with r.run("clerk", kind="test", version="1.2", conversation="c", input="hello", flagged=True) as run:
        with r.step("look", 1, 2):
            pass
        run.answer("bye")
    root, step = sent.named("invoke_agent clerk"), sent.named("look")
    assert run.id == f"{trace_id(root):032x}" == said(root, names.RUN_ID) == said(root, names.RUN_ORIGIN)
    assert said(root, names.RUN_KIND) == "test" and said(root, names.RUN_FLAGGED) is True
    assert said(root, "gen_ai.input.messages")[0]["parts"][0]["content"] == "hello"
    assert said(root, "gen_ai.output.messages")[0]["parts"][0]["content"] == "bye"
    assert step.parent is not None and step.parent.span_id == span_id(root)
    assert dict(step.attributes or {}) == {
        names.RUN_ID: run.id,
        names.RUN_ORIGIN: run.id,
        "gen_ai.agent.name": "clerk",
        "gen_ai.conversation.id": "c",
        names.STEP_NAME: "look",
        names.STEP_INDEX: 1,
        names.STEP_TOTAL: 2,
    }


def test_a_run_inside_a_run_is_part_of_it_and_one_in_a_foreign_trace_is_not_the_trace(sent: Sent) -> None:
    with r.run("outer") as outer, r.run("inner") as inner:
        assert inner.id == outer.id == r.current_run()
    with trace.get_tracer_provider().get_tracer("web").start_as_current_span("request"):
        with r.run("first") as first:
            pass
        with r.run("second") as second:
            pass
    assert len({first.id, second.id, f"{trace_id(sent.named('request')):032x}"}) == 3


@pytest.mark.parametrize("kind", ["resumes", "retries", "forks", "replays"])
@pytest.mark.parametrize("by", ["reference", "id"])
def test_a_run_descends_from_another(sent: Sent, kind: str, by: str) -> None:
    with r.run("clerk", id="first run", origin="zero") as first:
        pass
    given = first.reference if by == "reference" else first.id
    with r.run("clerk", at_step=3, patch=[{"op": "remove", "path": "/x"}], **{kind: given}) as second:  # type: ignore[arg-type]
        pass
    root = sent.spans[-1]
    (link,) = root.links
    assert dict(link.attributes or {}) == {names.LINK_TYPE: kind, names.RUN_ID: "first run"}
    assert link.context.is_valid
    if by == "reference":
        assert link.context.span_id == span_id(sent.spans[0])
    keeps = kind in ("resumes", "retries")
    assert second.origin == (("zero" if by == "reference" else "first run") if keeps else second.id)
    assert (said(root, names.FORK_STEP), said(root, names.FORK_PATCH)) == (
        3,
        [{"op": "remove", "path": "/x"}],
    )


def test_the_state_is_taken_before_and_after(sent: Sent) -> None:
    basket = Basket()
    with r.step("add", state=basket, schema="basket@1"):
        basket.items = 3
    with r.step("look", state=lambda: {"n": basket.items}):
        basket.items = 4
    with r.step("say") as step:
        step.state({"a": 1}, {"a": 2})
        r.state(schema="x@2", patch=[{"op": "add", "path": "/b", "value": 1}])
    added = sent.named("add")
    assert (said(added, names.STATE_BEFORE), said(added, names.STATE_AFTER)) == ({"items": 0}, {"items": 3})
    assert said(added, names.STATE_SCHEMA) == "basket@1"
    assert said(sent.named("look"), names.STATE_AFTER) == {"n": 4}
    assert said(sent.named("say"), names.STATE_AFTER) == {"a": 2}
    assert said(sent.named("say"), names.STATE_PATCH)[0]["path"] == "/b"


def test_what_is_not_an_object_becomes_a_state_with_one_key(sent: Sent) -> None:
    with r.step("list"):
        r.state(before=[1, 2], after=None)
    assert said(sent.named("list"), names.STATE_BEFORE) == {"value": [1, 2]}
    assert said(sent.named("list"), names.STATE_AFTER) == {"value": None}


def test_decorators_find_the_state_among_the_arguments(sent: Sent) -> None:
    @r.step(state="state", returns="delta")
    def node(model: str, state: dict[str, int]) -> dict[str, int]:
        return {"b": 2}

    @r.step("whole", state="state", returns="state")
    async def whole(state: Basket) -> Basket:
        return Basket(state.items + 1)

    @r.step("own", 4, attempt=2, backoff_ms=50, state="state")
    def own(state: dict[str, int]) -> None:
        state["n"] += 1

    assert node("m", {"a": 1}) == {"b": 2}
    assert asyncio.run(whole(Basket(1))) == Basket(2)
    own({"n": 1})
    own({"n": 5})
    assert said(sent.named("node"), names.STATE_AFTER) == {"a": 1, "b": 2}
    assert said(sent.named("whole"), names.STATE_AFTER) == {"items": 2}
    assert [said(span, names.STATE_AFTER) for span in sent.spans[-2:]] == [{"n": 2}, {"n": 6}]
    assert said(sent.spans[-1], names.ATTEMPT) == 2 and said(sent.spans[-1], names.BACKOFF_MS) == 50


def test_a_generator_s_span_is_current_only_while_it_runs(sent: Sent) -> None:
    inside: list[bool] = []

    def note() -> None:
        inside.append(trace.get_current_span().is_recording())

    @r.step("count")
    def count() -> Iterator[Any]:
        note()
        got = yield 1
        note()
        try:
            yield got
        except KeyError:
            note()
            yield "caught"

    counting = count()
    assert next(counting) == 1
    note()
    assert counting.send("sent") == "sent"  # type: ignore[attr-defined]
    note()
    assert counting.throw(KeyError()) == "caught"  # type: ignore[attr-defined]
    note()
    assert list(counting) == []

    @r.step("acount")
    async def acount() -> AsyncIterator[int]:
        note()
        yield 1
        note()
        yield 2

    async def read() -> None:
        async for _ in acount():
            note()
            await asyncio.sleep(0)

    asyncio.run(read())
    assert inside == [True, False] * 5
    assert [span.name for span in sent.spans] == ["count", "acount"]


def test_a_generator_left_alone_ends_its_span(sent: Sent) -> None:
    @r.step("left")
    def left() -> Iterator[int]:
        yield 1
        yield 2

    for _ in left():
        break
    assert sent.named("left").status.is_unset


def test_an_exception_passes_and_is_on_the_span(sent: Sent) -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no")

    with pytest.raises(Mute), r.step("fails", state={"a": 1}):
        raise Mute
    fails = sent.named("fails")
    assert not fails.status.is_ok and not fails.status.is_unset
    assert said(fails, names.STATE_AFTER) == {"a": 1}


_CHILD = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(formatter=lambda span: span.to_json(indent=None) + chr(10))))
trace.set_tracer_provider(provider)
from retrospan.exporter.recording import effect, joined, step
with joined(), step("child", 2), effect("send", 1):
    pass
"""


def test_a_child_process_and_a_thread_are_part_of_the_run(sent: Sent) -> None:
    with r.run("clerk ü", id="a;run,with=signs", origin="zero", conversation="clerk ü"):
        given = r.carrier()
        done = subprocess.run(
            [sys.executable, "-c", _CHILD],
            env={**os.environ, **given},
            capture_output=True,
            text=True,
            check=True,
        )

        def work() -> None:
            assert r.current_run() is None
            with r.joined(given), r.step("thread"):
                assert r.current_run() == "a;run,with=signs"

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    root = sent.named("invoke_agent clerk ü")
    tool, step = (json.loads(line) for line in done.stdout.splitlines())
    assert step["attributes"][names.RUN_ID] == "a;run,with=signs"
    assert step["attributes"][names.RUN_ORIGIN] == "zero"
    assert int(step["parent_id"], 16) == span_id(root)
    assert tool["attributes"][names.RUN_ID] == "a;run,with=signs"
    assert {tool["attributes"][name] for name in ("gen_ai.agent.name", "gen_ai.conversation.id")} == {
        "clerk ü"
    }
    assert tool["attributes"][names.IDEMPOTENCY_KEY].startswith("zero:2:send:")
    thread_step = sent.named("thread")
    assert thread_step.parent is not None and thread_step.parent.span_id == span_id(root)


def test_without_a_provider_everything_is_quiet_and_ids_work(no_provider: None) -> None:
    class Loud:
        def __iter__(self) -> Any:
            raise AssertionError("nobody keeps it, so nobody looks at it")

    with r.run("clerk", state=Loud()) as run, r.step("s", 1, state=Loud()):
        assert run.id and r.current_run() == run.id
        r.decide("a", "b")
        r.observe("a/b", {"c": Loud()})
        assert r.checkpoint() and r.output()
        with r.effect("pay", {"n": 1}) as pay:
            assert pay.key.startswith(f"{run.id}:1:pay:")
        assert r.carrier().keys() == {"BAGGAGE"}


@pytest.mark.parametrize("bad", [None, 3, "no slash", ("one",), object()], ids=lambda bad: type(bad).__name__)
def test_wrong_use_never_reaches_the_agent(sent: Sent, bad: Any) -> None:
    with r.run(bad, resumes=bad, at_step=bad), r.step(bad, bad, state=bad):
        r.observe(bad, bad)
        r.decide(bad, bad, options=bad, confidence=bad)
        r.use(bad)
        r.derive(bad, bad, bad)
        r.state(bad, bad, patch=bad, schema=bad)
        r.checkpoint(bad)
        with r.effect(bad, bad):
            pass
    assert sent.spans


def test_a_provider_that_comes_later_is_used(monkeypatch: pytest.MonkeyPatch, no_provider: None) -> None:
    with r.step("before"):
        pass
    from fix_spans import Sent as Kept
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    kept, provider = Kept(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    with r.step("after"):
        pass
    assert [span.name for span in kept.spans] == ["after"]
