"""What becomes of a tool's arguments: one command line, in which nothing that was given is a flag."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from retrospan.ingest.cli.command_table import parser_of
from retrospan.ingest.mcp.tools import BY_NAME, TOOLS, Tool

#: What an argument may be, by its name; any text where nothing is said here.
_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "limit": st.integers(1, 1_000),
    "step": st.integers(1, 1_000),
    "depth": st.integers(1, 100),
    "full": st.booleans(),
    "down": st.booleans(),
    "outcome": st.sampled_from(["ok", "error", "incomplete", "running", "killed", "lost"]),
    "aspect": st.sampled_from(["tool", "arguments", "result", "answer", "state", "prompt", "model", "error"]),
    "format": st.sampled_from(["table", "json", "csv"]),
    "since": st.just("2h ago"),
    "at": st.just("2h ago"),
    "known_at": st.just("2h ago"),
    "parameters": st.dictionaries(
        st.from_regex(r"\A[A-Za-z_][A-Za-z0-9_]*\Z"), st.text(max_size=20), max_size=3
    ),
}
_HOSTILE = st.sampled_from(
    ["--json", "--debug", "-n", "--sql", "-h", "--param=a=b", "--color=always", "--help"]
)
#: Nothing but hyphens fits no schema; nothing but white space is an empty value to a flag, which refuses it by name.
_TEXT = st.one_of(
    _HOSTILE, st.text(min_size=1, max_size=30).filter(lambda text: text.strip("-") and text.strip())
)


@st.composite
def arguments(draw: st.DrawFn, tool: Tool) -> dict[str, Any]:
    """Draw arguments of a tool that fit its schema."""
    names = [name for name in tool.arguments if name in tool.required or draw(st.booleans())]
    return {name: draw(_VALUES.get(name, _TEXT)) for name in names}


@pytest.mark.parametrize("name", BY_NAME)
@settings(deadline=None)
@given(data=st.data())
def test_no_value_is_read_as_a_flag(name: str, data: st.DataObject) -> None:
    tool = BY_NAME[name]
    asked = data.draw(arguments(tool))
    assert not [*Draft202012Validator(tool.schema).iter_errors(asked)]
    command, *words = tool.words(asked)
    assert command == name
    read = vars(parser_of(name).read(words))
    assert not read["debug"] and not read.get("json") and not read["help"]
    assert read.get("color", "auto") == "auto"
    for argument, target in (("run", "run"), ("query", "query"), ("agent", "agent"), ("entity", "entity")):
        if argument in asked and target in read and "step" not in asked:
            assert read[target] == asked[argument]
    if "parameters" in asked:
        assert read["param"] == [f"{key}={value}" for key, value in asked["parameters"].items()]


@pytest.mark.parametrize("word", ["", "-", "--", "---"])
def test_hyphens_alone_are_refused(word: str) -> None:
    for tool in TOOLS:
        texts = [name for name, schema in tool.arguments.items() if schema.get("type") == "string"]
        for name in texts:
            assert [*Draft202012Validator(tool.schema["properties"][name]).iter_errors(word)]


@pytest.mark.parametrize("tool", TOOLS, ids=list(BY_NAME))
def test_a_tool_says_what_each_argument_is(tool: Tool) -> None:
    Draft202012Validator.check_schema(tool.schema)
    assert set(tool.required) <= tool.arguments.keys()
    assert tool.schema["additionalProperties"] is False
    assert tool.job.endswith(".")
