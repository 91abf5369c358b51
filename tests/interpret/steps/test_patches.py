"""State patches: RFC 6902 as it is written, and the states of steps that send a patch instead of the state after."""

from __future__ import annotations

import json

import pytest
from interpret.stated.test_stated import span, told

from retrospan.ingest.interpret.steps.patches import NoPatch, patched


@pytest.mark.parametrize(
    ("document", "patch", "expected"),
    [
        ({"a": 1}, [{"op": "add", "path": "/b", "value": [1]}], {"a": 1, "b": [1]}),
        ({"a": [1, 2]}, [{"op": "add", "path": "/a/1", "value": 9}], {"a": [1, 9, 2]}),
        ({"a": [1]}, [{"op": "add", "path": "/a/-", "value": 2}], {"a": [1, 2]}),
        ({"a": 1, "b": 2}, [{"op": "remove", "path": "/a"}], {"b": 2}),
        ({"a": [1, 2, 3]}, [{"op": "remove", "path": "/a/0"}], {"a": [2, 3]}),
        ({"a": {"b": 1}}, [{"op": "replace", "path": "/a/b", "value": None}], {"a": {"b": None}}),
        ({"a": 1}, [{"op": "replace", "path": "", "value": {"c": 3}}], {"c": 3}),
        ({"a": 1}, [{"op": "add", "path": "", "value": {"c": 3}}], {"c": 3}),
        ({"a": {"x": 1}}, [{"op": "copy", "from": "/a", "path": ""}], {"x": 1}),
        ({"a": {"x": 1}}, [{"op": "move", "from": "/a/x", "path": "/y"}], {"a": {}, "y": 1}),
        ({"a": [1, 2]}, [{"op": "move", "from": "/a/0", "path": "/a/1"}], {"a": [2, 1]}),
        ({"a": {"x": 1}}, [{"op": "copy", "from": "/a", "path": "/b"}], {"a": {"x": 1}, "b": {"x": 1}}),
        ({"a": 1}, [{"op": "test", "path": "/a", "value": 1.0}, {"op": "remove", "path": "/a"}], {}),
        ({"a/b": {"m~n": 1}}, [{"op": "replace", "path": "/a~1b/m~0n", "value": 2}], {"a/b": {"m~n": 2}}),
        ({"": 1}, [{"op": "remove", "path": "/"}], {}),
    ],
)
def test_operations(document: object, patch: object, expected: object) -> None:
    before = json.dumps(document)
    assert patched(document, patch) == expected
    assert json.dumps(document) == before


@pytest.mark.parametrize(
    ("patch", "why"),
    [
        ({}, "not a JSON array"),
        ([1], "operation 1: not an object"),
        ([{"op": "add", "path": "/b"}], "without a value"),
        ([{"op": "add", "path": "b", "value": 1}], "not a JSON pointer"),
        ([{"op": "add", "path": "/b/c", "value": 1}], "there is no 'b'"),
        ([{"op": "add", "path": "/a/5", "value": 1}], "no place 5"),
        ([{"op": "add", "path": "/a/01", "value": 1}], "no index"),
        ([{"op": "replace", "path": "/a/-", "value": 1}], "no place -"),
        ([{"op": "remove", "path": "/n/x"}], "nothing lies inside"),
        ([{"op": "test", "path": "/n", "value": True}], "test failed"),
        (
            [{"op": "test", "path": "/n", "value": 1}, {"op": "merge", "path": "/n"}],
            "operation 2: no operation",
        ),
        ([{"op": "move", "from": "/a", "path": "/a/0"}], "into itself"),
    ],
)
def test_what_does_not_apply_says_why(patch: object, why: str) -> None:
    with pytest.raises(NoPatch, match=why):
        patched({"a": [1], "n": 1}, patch)


@pytest.mark.parametrize(
    "patch",
    [
        [{"op": "copy", "from": "", "path": f"/{number}"} for number in range(12)],
        [{"op": "test", "path": "/a", "value": [0] * 1000}] * 2001,
        [{"op": "add", "path": "/a/0", "value": 0}] * 16_000,
    ],
    ids=["doubles", "compares", "moves"],
)
def test_a_patch_that_would_take_all_time_and_memory_does_not_apply(patch: list[object]) -> None:
    with pytest.raises(NoPatch, match="copies, compares or moves more than a patch may"):
        patched({"a": [0] * 1000}, patch)


def test_a_patch_does_not_nest_a_state_deeper_than_a_state_may_be() -> None:
    path = "".join("/a" for _ in range(199))
    deep = json.loads('{"a":' * 200 + "1" + "}" * 200)
    assert patched({}, [{"op": "add", "path": "", "value": deep}]) == deep
    for patch in (
        [{"op": "replace", "path": f"{path}/a", "value": {"b": 1}}],
        [{"op": "copy", "from": "", "path": "/b"}] * 2,
    ):
        with pytest.raises(NoPatch, match="would be nested deeper than 200"):
            patched(deep, patch)


def test_a_patch_applies_to_the_state_before_or_to_the_last_one_left() -> None:
    def step(number: int, at: int, **state: str) -> dict[str, object]:
        return {
            "retrospan.step.index": number,
            **{f"retrospan.state.{key}": value for key, value in state.items()},
        }

    add = json.dumps([{"op": "add", "path": "/n", "value": 1}])
    up = json.dumps([{"op": "replace", "path": "/n", "value": 2}])
    rows = told(
        span(1, 0, 0, [], **{"gen_ai.operation.name": "invoke_agent"}),
        span(2, 1, 10, [], **step(1, 10, before='{"a":0}', patch=add)),
        span(3, 1, 20, [], **step(2, 20, patch=up)),
        span(4, 1, 30, [], **step(3, 30, patch="[{")),
    )
    states = {value.number: value.json for value in rows.values}
    assert [
        dict(zip(row.after_keys, [states[n] for n in row.after_values], strict=True)) for row in rows.steps
    ] == [{"a": "0", "n": "1"}, {"a": "0", "n": "2"}, {}]
    assert [row.state_after_hash is not None for row in rows.steps] == [True, True, False]
    assert [(problem.field, problem.raw) for problem in rows.problems] == [("retrospan.state.patch", "[{")]


def test_a_patch_without_any_state_is_a_problem() -> None:
    rows = told(span(1, 0, 0, [], **{"retrospan.step.index": 1, "retrospan.state.patch": "[]"}))
    assert rows.steps[0].state_after_hash is None
    assert rows.problems[0].reason == "there is no state that it applies to"


def test_a_patch_that_leaves_no_object_leaves_the_state_unknown() -> None:
    whole = json.dumps([{"op": "replace", "path": "", "value": [1]}])
    stated = {"retrospan.step.index": 1, "retrospan.state.before": '{"a":0}', "retrospan.state.patch": whole}
    rows = told(span(1, 0, 0, [], **stated))
    assert [problem.reason for problem in rows.problems] == ["leaves no JSON object"]
    (step,) = rows.steps
    assert (step.before_keys, step.after_keys, step.state_after_hash) == (["a"], [], None)
