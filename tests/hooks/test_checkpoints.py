"""What the hook for LangGraph records of checkpoints, and what is made of it: nothing between them but rows."""

from __future__ import annotations

import asyncio
import json
import operator
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from fix_spans import Sent, events
from hooks import graphs
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command

from retrospan.exporter.hooks import langgraph as hook
from retrospan.exporter.hooks.checkpoints import packed
from retrospan.queries import langgraph as queries
from retrospan.queries.langgraph import Restored, restore
from retrospan.schemas import attributes as names
from retrospan.schemas.errors import NotFound, NotRestorable, SchemaTooNew

THREAD = {"configurable": {"thread_id": "t"}}


@pytest.fixture(autouse=True)
def hooked() -> Iterator[None]:
    hook.install()
    yield
    hook.remove()


Row = dict[str, Any]


def rows(sent: Sent) -> list[Row]:
    """What the question returns, of spans as a stock exporter sends them."""
    found = [each for span in sent.spans for each in events(span, names.CHECKPOINT_CONTENT)]
    return [
        {
            "checkpoint_id": each[names.CHECKPOINT_ID],
            "content": each[names.CHECKPOINT_CONTENT],
            "redacted": "",
        }
        for each in found
    ]


class Answers:
    """A collector with one run."""

    def __init__(self, found: list[Row]) -> None:
        self.found = found

    def rows(self, query: str, parameters: Mapping[str, Any]) -> list[Row]:
        return [{"run_id": "r"}] if "FROM runs" in query else self.found


@pytest.fixture
def restored(monkeypatch: pytest.MonkeyPatch) -> Any:
    def of(found: list[Row], **given: Any) -> Restored:
        monkeypatch.setattr(queries, "client_of", lambda *_: Answers(found))
        return restore("r", **given)

    return of


def changed(found: list[Row], **fields: Any) -> list[Row]:
    """The rows, with fields of each content replaced; a function gets the content."""
    made = []
    for row in found:
        content = json.loads(row["content"])
        for key, value in fields.items():
            content[key] = value(content) if callable(value) else value
        made.append({**row, "content": json.dumps(content)})
    return made


def _hostile(content: str) -> list[str]:
    """Contents that somebody else could have sent: of other shapes, and nested without end."""
    fields: tuple[dict[str, Any], ...] = (
        {"versions": [1]},
        {"values": 3},
        {"parent": [1]},
        {"checkpoint": {}},
        {"checkpoint": {"channel_versions": 5}},
        {"checkpoint": {"channel_versions": {"a": [1]}}},
        {"metadata": 7},
    )
    said = json.loads(content)
    nested = json.dumps({**said, "checkpoint": "?"}).replace('"?"', "[" * 100_000 + "]" * 100_000)
    return [*(json.dumps({**said, **field}) for field in fields), nested]


def shop_with(saver: Any, asks: bool = False) -> Any:
    shop = graphs.shop(asks)
    shop.checkpointer = saver
    return shop


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("is_async", [False, True])
def test_a_thread_goes_on_however_it_ran_and_was_saved(
    sent: Sent, restored: Any, is_async: bool, durability: Any
) -> None:
    shop = graphs.shop(asks=True)
    if is_async:
        asyncio.run(shop.ainvoke({"item": "cup"}, THREAD, durability=durability))
    else:
        shop.invoke({"item": "cup"}, THREAD, durability=durability)
    saver = restored(rows(sent))
    assert saver.config == THREAD and saver.step == 1
    again = shop_with(saver, asks=True)
    assert again.get_state(THREAD).values == shop.get_state(THREAD).values
    assert again.get_state(THREAD).interrupts == shop.get_state(THREAD).interrupts
    end = again.invoke(Command(resume="yes"), saver.config)
    assert end["log"] == ["looked up", "asked", "bought cup for 12"]


def test_the_saver_holds_what_the_thread_was_and_nothing_later(sent: Sent, restored: Any) -> None:
    shop = graphs.shop()
    shop.invoke({"item": "cup"}, THREAD)
    history = list(shop.get_state_history(THREAD))[::-1]
    for place, state in enumerate(history):
        saver = restored(rows(sent), checkpoint=state.config["configurable"]["checkpoint_id"])
        own = list(shop_with(saver).get_state_history(THREAD))[::-1]
        assert [each.values for each in own] == [each.values for each in history[: place + 1]]
        assert own[-1].next == state.next and own[-1].metadata == state.metadata
        assert saver.step == state.metadata["step"]


def join(state: list[str], writes: Any) -> list[str]:
    return [*state, *(each for write in writes for each in write)]


class Told(TypedDict):
    log: Annotated[list[str], DeltaChannel(join, list[str])]
    count: Annotated[int, operator.add]


def tell(name: str, state: Any) -> dict[str, Any]:
    return {"log": [name], "count": len(state["log"])}


def telling(saver: Any) -> Any:
    graph = StateGraph(Told)
    for name in ("one", "two"):
        graph.add_node(name, partial(tell, name))
    graph.add_edge(START, "one")
    graph.add_edge("one", "two")
    graph.add_edge("two", END)
    return graph.compile(checkpointer=saver)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:.*[Bb]eta.*")
def test_values_that_are_kept_as_changes_come_back_whole(sent: Sent, restored: Any) -> None:
    graph = telling(InMemorySaver())
    graph.invoke({"log": ["in"], "count": 0}, THREAD)
    sent.spans.clear()
    end = graph.invoke({"log": ["again"], "count": 0}, THREAD)
    assert end["log"] == ["in", "one", "two", "again", "one", "two"]
    found = rows(sent)
    for step in (3, 4, 5, 6):  # of the second run, whose records alone there are
        saver = restored(found, step=step)
        again = telling(saver)
        assert again.invoke(None, saver.config) == end, step
    without = [row for row in found if json.loads(row["content"])["kind"] != "loaded"]
    with pytest.raises(NotRestorable, match="changes since a checkpoint that is not on record"):
        restored(without, step=5)


def test_a_class_that_nobody_allowed_is_not_called(sent: Sent, restored: Any, tmp_path: Path) -> None:
    shop = graphs.shop()
    shop.invoke({"item": "cup"}, THREAD)
    touched = tmp_path / "touched"
    call = {"$extension": [0, ["os", "mkdir", str(touched)]]}

    def values(content: Row) -> Any:
        return {**content.get("values", {}), "item": {"deep": [call]}}

    for hostile in (
        changed(rows(sent), values=values),
        changed(rows(sent), metadata=lambda content: {**content.get("metadata", {}), "step": 2, "x": call}),
    ):
        with pytest.raises(NotRestorable, match=r"os\.mkdir, which is not called unless you say so"):
            # What tasks wrote may be told after the checkpoint that came of it: the last one is the one with the last id.
            restored(hostile, checkpoint=max(row["checkpoint_id"] for row in hostile))
    assert not touched.exists()


@pytest.mark.parametrize(
    "said",
    [
        {"$extension": [99, ["a", "b", 1]]},
        {"$extension": [0, "x"]},
        {"$extension": "x"},
        {"$map": [[1]]},
        {"$bytes": "*"},
        {"$what": 1},
        {"$number": "x"},
        {"a": 1, "$b": 2},
        {"$cut": {"bytes": 9}},
        {"$unwritten": "function: TypeError"},
    ],
)
def test_what_is_not_in_the_form_is_refused_by_name(sent: Sent, restored: Any, said: object) -> None:
    graphs.shop().invoke({"item": "cup"}, THREAD)
    damaged = changed(rows(sent), values=lambda content: {**content.get("values", {}), "item": said})
    with pytest.raises(NotRestorable, match="'item'"):
        restored(damaged, step=1)


def test_records_that_cannot_be_used_say_why(sent: Sent, restored: Any) -> None:
    graphs.shop().invoke({"item": "cup"}, THREAD)
    found = rows(sent)
    # Their ids grow; what tasks wrote may be told after the checkpoint that came of it.
    last = max(row["checkpoint_id"] for row in found)
    with pytest.raises(SchemaTooNew, match="has form 2; this release reads up to 1"):
        restored(changed(found, form=2))
    with pytest.raises(NotRestorable, match="has form 2"):
        restored(changed(found, form=2), step=1)
    with pytest.raises(NotRestorable, match="only LangGraph's"):
        restored(changed(found, framework="other"), checkpoint=last)
    with pytest.raises(NotRestorable, match="was withheld by redaction or deleted by retention"):
        restored([{**row, "content": "", "redacted": '[{"path":"*","rule":"retention"}]'} for row in found])
    for damaged in (
        "[]",
        "{}",
        "{",
        "7",
        '{"form": 1, "framework": "langgraph"}',
        '{"form":1,"kind":"saved"}',
        *_hostile(next(row["content"] for row in found if row["checkpoint_id"] == last)),
    ):
        with pytest.raises(NotRestorable):
            restored([{**row, "content": damaged} for row in found], checkpoint=last)
        # One that is damaged does not take the others along.
        others = [{**row, "content": damaged} if row["checkpoint_id"] == last else row for row in found]
        assert restored(others, step=1).step == 1
    only_writes = [row for row in found if json.loads(row["content"])["kind"] == "writes"]
    with pytest.raises(NotRestorable, match="only what tasks wrote"):
        restored(only_writes)
    with pytest.raises(NotFound, match="has no checkpoint 'x'"):
        restored(found, checkpoint="x")
    with pytest.raises(NotFound, match="has no checkpoints that can be restored"):
        restored([])
    with pytest.raises(NotFound, match="which run, or which thread"):
        restore()
    first = [{**row, "content": "{"} if row["checkpoint_id"] != last else row for row in found]
    with pytest.raises(NotRestorable, match="is in a record that is not there, or cannot be read"):
        restored(first)
    two = [*found, *changed(found, thread="u")]
    with pytest.raises(NotFound, match=r"several threads: t, u\. Name one"):
        restored(
            [*found, *[{**row, "checkpoint_id": f"{row['checkpoint_id']}u"} for row in two[len(found) :]]]
        )


def test_each_value_comes_back_as_it_was() -> None:
    values = queries.Values(())  # pyright: ignore[reportPrivateUsage]
    from retrospan.schemas.checkpoint_form import read

    for value in (
        None,
        True,
        2**63,
        -1.5,
        "ü\u2028",
        b"\x00",
        [1, [2]],
        {"$a": 1, "$cut": {"b": 2}},
        {1: "a", "b": {2: 3}},
        {"s", "t"},
        {"a": float("inf")},
    ):
        text = json.dumps(packed(value))
        assert values.value(read(json.loads(text)), "here") == value
    assert packed(lambda: 1) == {"$unwritten": "function: TypeError"}


def test_without_a_saver_nothing_of_a_checkpoint_is_recorded(sent: Sent) -> None:
    graphs.shop_without_memory().invoke({"item": "cup"})
    assert rows(sent) == []
