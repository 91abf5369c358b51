"""The canonical form of every type, and the description of what has none: never raised, never dropped."""

from __future__ import annotations

import json
import logging
import sys
from collections import OrderedDict, deque, namedtuple
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any
from uuid import UUID

import numpy
import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage

from retrospan.exporter.recording import encoding, json_text, limit_values
from retrospan.exporter.recording.encoding import json_value
from retrospan.exporter.recording.forms import MAX_DEPTH, REPR_CHARACTERS, walked


class Colour(Enum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


@dataclass
class Point:
    x: int
    y: object = None


class Model(pydantic.BaseModel):
    at: datetime = datetime(2026, 1, 2, tzinfo=UTC)
    names: set[str] = {"b", "a"}
    key: pydantic.SecretStr = pydantic.SecretStr("hunter2")


Pair = namedtuple("Pair", "left right")


class Hostile:
    """Fails whenever it is looked at."""

    def __repr__(self) -> str:
        raise RuntimeError("no")

    __str__ = __repr__

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("value", "form"),
    [
        ({"a": [1, 2.5, None, True, "ü"]}, {"a": [1, 2.5, None, True, "ü"]}),
        ((1, 2), [1, 2]),
        (Pair(1, 2), [1, 2]),
        (deque([1]), [1]),
        (OrderedDict(b=1), {"b": 1}),
        (MappingProxyType({"b": 1}), {"b": 1}),
        (Point(1, Point(2)), {"x": 1, "y": {"x": 2, "y": None}}),
        (Colour.RED, "red"),
        (Level.HIGH, 3),
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "2026-01-02T03:04:05+00:00"),
        (date(2026, 1, 2), "2026-01-02"),
        (timedelta(minutes=1.5), 90.0),
        (Decimal("1.20"), "1.20"),
        (UUID(int=7), "00000000-0000-0000-0000-000000000007"),
        (PurePosixPath("/tmp/x"), "/tmp/x"),
        ({3, 1, 2}, [1, 2, 3]),
        (frozenset({"b", "a"}), ["a", "b"]),
        (b"\x00\xff", {"$type": "bytes", "$base64": "AP8="}),
        (numpy.float32(1.5), 1.5),
        (numpy.int64(4), 4),
        (numpy.bool_(True), True),
        (numpy.arange(3), [0, 1, 2]),
        (float("nan"), "NaN"),
        ([float("inf"), -float("inf")], ["Infinity", "-Infinity"]),
        (ValueError("no"), {"$type": "ValueError", "$message": "no"}),
        ({1: "a", None: "b", (1, 2): "d"}, {"1": "a", "null": "b", "(1, 2)": "d"}),
        ({Colour.RED: 1}, {"red": 1}),
        ("\ud800", "\ud800"),
        (10**5000, {"$type": "int", "$hex": hex(10**5000)}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_each_type_has_its_form(value: object, form: object) -> None:
    assert json.loads(json_text(value)) == form
    assert json_value(value) == form
    json_text(value).encode()


def test_pydantic_objects_keep_their_secrets() -> None:
    form = json.loads(json_text(Model()))
    assert form["names"] == ["a", "b"] and form["at"] == "2026-01-02T00:00:00+00:00"
    assert "hunter2" not in json.dumps(form)


def test_messages_of_langchain_are_objects_of_their_fields() -> None:
    messages = [HumanMessage("hi"), AIMessage("", tool_calls=[{"name": "f", "args": {"a": 1}, "id": "c"}])]
    human, ai = json.loads(json_text({"messages": messages}))["messages"]
    assert (human["type"], human["content"]) == ("human", "hi")
    assert ai["tool_calls"][0]["args"] == {"a": 1}


def test_what_has_no_form_is_described_the_same_in_every_process() -> None:
    form = json.loads(json_text(x for x in [1]))
    assert form["$type"] == "generator"
    assert " at 0x" not in form["$repr"]
    assert json.loads(json_text(Hostile()))["$repr_failed"] == "RuntimeError"
    text = "x" * 2 * REPR_CHARACTERS
    assert len(json.loads(json_text(type("Long", (), {"__repr__": lambda self: text})()))["$repr"]) == 501


def test_cycles_and_depth_are_described_where_they_are() -> None:
    cycle: dict[str, object] = {"ok": 1}
    cycle["again"] = [cycle]
    assert json.loads(json_text(cycle)) == {
        "ok": 1,
        "again": [{"$type": "dict", "$note": "a cycle: contains itself"}],
    }
    point = Point(1)
    point.y = {"up": point}
    assert json.loads(json_text(point))["y"]["up"]["$note"].startswith("a cycle")
    deep: list[object] = []
    for _ in range(50_000):
        deep = [deep]
    text = json_text({"deep": deep})
    assert f"deeper than {MAX_DEPTH} levels" in text
    assert json.loads(text)


def test_one_bad_part_costs_only_itself() -> None:
    form = json.loads(json_text({"good": [1, 2], "bad": Hostile(), "nan": float("nan")}))
    assert form["good"] == [1, 2] and form["nan"] == "NaN"
    assert form["bad"]["$type"].endswith("Hostile")


def test_a_large_value_is_cut_at_its_largest_parts_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    encoding._Limit.said = False
    limit_values(20_000)
    try:
        with caplog.at_level(logging.WARNING):
            text = json_text({"small": 1, "log": ["line"] * 3, "page": "x" * 50_000})
            json_text("y" * 50_000)
    finally:
        limit_values(encoding.DEFAULT_LIMIT_BYTES)
    assert len(text) <= 20_000
    form = json.loads(text)
    assert (form["small"], form["log"]) == (1, ["line"] * 3)
    assert form["page"]["$cut"]["bytes"] == 50_002
    assert form["page"]["$cut"]["start"] == "x" * 1000
    assert [record.message.count("logged once") for record in caplog.records] == [1]


def test_a_list_of_many_small_parts_is_cut_too() -> None:
    limit_values(5000)
    try:
        for value in ({"all": [{"n": n, "text": "y" * 50} for n in range(1000)]}, list(range(50_000))):
            text = json_text(value)
            assert len(text) <= 5000 and "$cut" in text
            json.loads(text)
    finally:
        limit_values(encoding.DEFAULT_LIMIT_BYTES)


_leaves = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.decimals()
    | st.builds(Hostile) | st.datetimes() | st.uuids() | st.sets(st.integers())
)  # fmt: skip
_values = st.recursive(
    _leaves,
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers() | st.none(), inner) | st.builds(Point, st.integers(), inner),
    max_leaves=6,
)  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(_values)
def test_the_fast_way_and_the_slow_say_the_same(value: object) -> None:
    text = json_text(value)
    assert json.loads(text) == json.loads(json.dumps(walked(value)))
    text.encode()


def test_nothing_heavy_is_imported() -> None:
    import subprocess

    code = (
        "import sys, retrospan.exporter.recording as r; r.json_text({1: object(), 2: float('nan')});"
        "print(*{n.partition('.')[0] for n in sys.modules} & {'numpy','pydantic','langgraph','pandas','grpc'}, "
        "[n for n in sys.modules if n.startswith('opentelemetry.sdk')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
