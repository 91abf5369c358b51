"""The facts of a recording: what truth log and script say, and whether the collector's views say it too."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fix_recordings import Recording
from recordings.record import said
from recordings.record.in_bytes import Bytes

AGENT = "orla"
_DENIED = ("not_executed", "incomplete")
_PRINTED = re.compile(
    r"""\s*(?:[\[{(]+\s*['"](?:role|type|tool_calls|function_call|function|call_id|arguments|parts|content)['"]\s*:"""
    r"""|[A-Z]\w*\(\w+=)"""
)
Row = dict[str, Any]


@dataclass(frozen=True)
class Fact:
    """One statement about a run, and whether it came back."""

    name: str
    holds: bool
    seen: str
    """What the views say, to be printed."""
    is_known: bool = True
    """Whether the recording's bytes hold it; else it is not asked."""


@dataclass(frozen=True)
class Views:
    """What the collector's views say of one recording, in the order of time."""

    runs: Sequence[Row]
    model_calls: Sequence[Row]
    tool_calls: Sequence[Row]


def facts_of(recording: Recording, views: Views) -> list[Fact]:
    """Compare everything that is known of a recording with what the views say."""
    known = Bytes(recording)
    calls = [line for line in recording.truth if line["kind"] == "llm"]
    tools = [line for line in recording.truth if line["kind"] == "tool"]
    return [
        *_of_runs(recording, views, known, calls),
        *_of_model_calls(recording, views, known, calls),
        *_of_tool_calls(recording, views, known, calls, tools),
    ]


def _of_runs(recording: Recording, views: Views, known: Bytes, calls: Sequence[Row]) -> Iterator[Fact]:
    expected, scenario = recording.expected, recording.name.rpartition("/")[2]
    turns, answers = expected["user_turns"], expected["final_answers"]
    inputs, outputs = [run["input"] for run in views.runs], [run["output"] for run in views.runs]
    yield Fact("one run per user turn", len(views.runs) == len(turns), f"{len(views.runs)} runs")
    # Some programs put quotes around the words that they are started with, before anything of theirs is told.
    quoted = [f'"{turn}"' for turn in turns]
    asked = {
        text for call in calls for role, _, text in said.told(call["request"], {}) or () if role == "user"
    }
    right = inputs == turns or (inputs == quoted and asked.issuperset(quoted))
    yield Fact("user input", right, _short(inputs), known.hold(turns))
    wanted = {"error", "incomplete"} if scenario == "llm_error" else {"ok"}
    if known.lacks_parents:
        wanted.add("incomplete")  # how it ended is told by spans that never came
    outcomes = [run["outcome"] for run in views.runs]
    knows = scenario != "llm_error" or known.has_failed or known.hold("maximum context length")
    if not recording.off_script:
        yield Fact("outcome", bool(outcomes) and set(outcomes) <= wanted, _short(outcomes), knows)
    if answers and not recording.off_script:
        yield Fact("final answers", outputs == answers, _short(outputs), known.hold(answers))
    if scenario != "handoff":
        named = [{str(row["agent_name"]).lower() for row in rows} for rows in (views.runs, views.model_calls)]
        yield Fact("agent name", {AGENT} in named, _short(named), known.name_agent(AGENT))
    for place, column in enumerate(("input_tokens", "output_tokens")):
        counts = [said.tokens_of(call["response"])[place] for call in calls]
        counts = [count for count in counts if count]
        got = sum(int(run[column] or 0) for run in views.runs)
        name = column.replace("_", " ")
        yield Fact(name, got == sum(counts), f"{got}, counted {sum(counts)}", known.count(counts))


def _of_model_calls(recording: Recording, views: Views, known: Bytes, calls: Sequence[Row]) -> Iterator[Fact]:
    rows, expected = views.model_calls, recording.expected
    asked, answers = expected["request_model"], expected["response_model"]
    real = [said.answered(call["response"]) for call in calls]
    times = [int(call["t"] * 1e9) for call in calls]
    are_told = [known.tell_call(real, times, place) for place in range(len(calls))]
    kept = said.items_of(call["response"] for call in calls)
    seen = f"{len(rows)}, really {len(calls)}"
    yield Fact("number of model calls", len(rows) == len(calls), seen, all(are_told))
    for place, (call, answer, row) in enumerate(zip(calls, real, _aligned(real, rows), strict=True)):
        history = said.told(call["request"], kept)

        def column(name: str, row: Row | None = row) -> Any:
            return row and row[name]

        is_told = are_told[place]
        status, seen = "ok" if answer else "error", column("status")
        yield Fact(f"model call status {place}", seen == status, _short(seen), is_told)
        seen, is_named = column("request_model"), known.name_model(asked, answers)
        yield Fact(f"request model {place}", seen == asked, _short(seen), is_told and is_named)
        if answer:
            seen = column("response_model")
            yield Fact(
                f"response model {place}",
                seen == answers,
                _short(seen),
                is_told and (known.name_answerer if answers == asked else known.hold)(answers),
            )
            got = said.answered_in_row(row) if row else None
            values = [answer[0], *(argument for _, _, argument in answer[1])]
            is_held = is_told and known.hold_text(answer[0]) and all(map(known.hold, values))
            right = got == answer
            if not all(known.hold(call_id) for call_id, _, _ in answer[1]):
                right = bool(got) and _without_ids(got) == _without_ids(answer)
            yield Fact(f"answer {place}", right, _short(got), is_held)
        if history is not None:
            read = said.told_in_row(row) if row else None
            is_held = is_told and all(known.hold(value) for _, _, value in history)
            yield Fact(f"message history {place}", read == history, _short(read), is_held)
    truth = str([(call["request"], call["response"]) for call in calls])
    texts = [text for row in rows for text in _texts_of(row) if _PRINTED.match(text) and text not in truth]
    yield Fact("no printed object as text", not texts, _short(texts[:1]))


def _aligned(answers: Sequence[said.Answer | None], rows: Sequence[Row]) -> list[Row | None]:
    """The row of each model call: by order when there are as many, else the next one with the same answer."""
    if len(answers) == len(rows):
        return list(rows)
    places: list[int | None] = []
    free = 0
    for answer in answers:
        same = (
            place
            for place in range(free, len(rows))
            if (answer is None and rows[place]["status"] == "error")
            or (answer and _without_ids(said.answered_in_row(rows[place])) == _without_ids(answer))
        )
        places.append(next(same, None))
        free = free if places[-1] is None else places[-1] + 1
    for at, place in enumerate(places):
        if place is None:
            # What stands between its neighbours may be it.
            low = max((known for known in places[:at] if known is not None), default=-1) + 1
            high = min((known for known in places[at:] if known is not None), default=len(rows))
            places[at] = low if low < high else None
    return [None if place is None else rows[place] for place in places]


def _without_ids(answer: said.Answer | None) -> object:
    return answer and (answer[0], [call[1:] for call in answer[1]])


def _texts_of(row: Row) -> list[str]:
    parts = [*said.told_in_row(row), ("", "text", said.answered_in_row(row)[0])]
    return [value for _, kind, value in parts if kind == "text" and isinstance(value, str)]


def _of_tool_calls(
    recording: Recording, views: Views, known: Bytes, calls: Sequence[Row], tools: Sequence[Row]
) -> Iterator[Fact]:
    names = {tool["tool"] for tool in tools}
    rows = [{**row, "name": plain_name(row["tool_name"], names)} for row in views.tool_calls]
    rows = [row for row in rows if row["name"]]
    ran = Counter(str(tool["tool"]) for tool in tools)
    got = Counter(str(row["name"]) for row in rows)
    denied = Counter(str(row["name"]) for row in rows if row["status"] in _DENIED)
    # Of a tool that is named only among those that were offered nobody can tell that it was called.
    asked = all(map(known.name_called, names))
    # What a model asked for may be listed though it never ran, if the list does not say that it ran.
    wished = Counter(
        plain_name(name, names)
        for call in calls
        for _, name, _ in (said.answered(call["response"]) or ("", []))[1]
    )
    spare = {name: max(0, wished[name] - ran[name]) for name in names}
    counted = all(ran[name] <= got[name] <= ran[name] + spare[name] for name in names)
    yield Fact("number of tool calls", counted, f"{dict(got)}, really {dict(ran)}", asked)
    right = all(count <= spare[name] for name, count in denied.items())
    yield Fact("no executed tool call denied", right, f"{dict(denied)} of {dict(ran)}", asked)
    ids = [] if recording.off_script else _ids_in_order(recording)
    executed = [row for row in rows if row["status"] not in _DENIED]
    if len(executed) > len(tools):
        # What is not known to have run need not have.
        executed = [row for row in executed if row["status"] != "unknown"]
    if recording.name.endswith("/parallel"):
        # Which of them ran first is not fixed: they are known by their arguments, or else by the ids of their calls.
        by_arguments = dict(zip(map(_key, recording.expected["tool_args_in_order"]), ids, strict=False))
        if ids and executed and all(row["arguments"] is None for row in executed):
            executed = sorted(executed, key=lambda row: str(row["tool_call_id"]))
            tools = sorted(tools, key=lambda tool: str(by_arguments.get(_key(tool["args"]))))
        else:
            executed = sorted(executed, key=lambda row: _key(row["arguments"]))
            tools = sorted(tools, key=lambda tool: _key(tool["args"]))
        ids = [by_arguments.get(_key(tool["args"])) for tool in tools] if ids else []
    if not asked:
        executed = _by_arguments(views.tool_calls, tools)
    is_aligned = not asked or [row["name"] for row in executed] == [tool["tool"] for tool in tools]
    yield Fact("tool names in order", is_aligned, _short([row.get("name") for row in executed]), asked)
    for place, tool in enumerate(tools):
        row = executed[place] if is_aligned else {}
        seen = row.get("arguments")
        right = is_aligned and said.opened(seen) == tool["args"]
        yield Fact(f"tool arguments {place}", right, _short(seen), known.hold(tool["args"]))
        if tool["error"] is None:
            seen = row.get("result")
            right = is_aligned and said.bare(seen) == said.bare(tool["result"])
            yield Fact(f"tool result {place}", right, _short(seen), known.hold(tool["result"]))
        status = "ok" if tool["error"] is None else "error"
        # What a tool returned shows that it ran, whatever else is left out.
        shown = (
            [tool["args"]]
            if tool["error"] is not None or not tool["result"]
            else [tool["args"], tool["result"]]
        )
        is_told = (asked or any(map(known.hold, shown))) and (
            tool["error"] is None or known.hold(tool["error"])
        )
        yield Fact(f"tool status {place}", row.get("status") == status, _short(row.get("status")), is_told)
        if place < len(ids):
            seen = row.get("tool_call_id")
            yield Fact(f"tool call id {place}", seen == ids[place], _short(seen), known.hold(ids[place]))


def _by_arguments(rows: Sequence[Row], tools: Sequence[Row]) -> list[Row]:
    """The row of each execution where nothing says what the tools, or some of them, are called.

    It is the next one with its arguments; for what none has, the next one left with its result.
    """
    rest = [row for row in rows if row["status"] not in _DENIED]
    found: list[Row] = [{} for _ in tools]
    for is_same in (_has_arguments, _has_result):
        for place, tool in enumerate(tools):
            row = next((row for row in rest if is_same(row, tool)), None)
            if row is not None and not found[place]:
                rest.remove(row)
                found[place] = {**row, "name": tool["tool"]}
    return found


def _has_arguments(row: Row, tool: Row) -> bool:
    return bool(said.opened(row["arguments"]) == tool["args"])


def _has_result(row: Row, tool: Row) -> bool:
    return bool(tool["result"]) and bool(said.bare(row["result"]) == said.bare(tool["result"]))


def _ids_in_order(recording: Recording) -> list[str | None]:
    expected = recording.expected
    pairs = zip(expected["tool_names_in_order"], expected["tool_call_ids_in_order"], strict=True)
    return [call_id for name, call_id in pairs if name != "HANDOFF"]


def plain_name(name: str, names: set[str]) -> str | None:
    """The tool's own name where a framework writes a server, plugin, class or method around it; None for another tool."""
    words = set(re.split(r"[^A-Za-z0-9_]+|__", name)) | {name}
    # `shop` is the kit's server: some write nothing else before the tool's own name.
    marks = ("-", "_") if name.startswith(("mcp_", "shop_")) else ("-",)
    found = words & names or {own for own in names if name.endswith(tuple(f"{mark}{own}" for mark in marks))}
    return next(iter(found), None)


def _key(value: Any) -> str:
    opened = said.opened(value)
    return str(sorted(opened.items())) if isinstance(opened, dict) else str(opened)


def _short(value: Any) -> str:
    return str(value)[:160]
