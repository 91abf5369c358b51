"""Prompts that leave out the calls of the answers which they repeat, and tell results as bare texts or as marks that only name
the tool: completed by these answers, and by what the tools returned.

A prompt goes on from an earlier one of the same agent where it begins with all of it, unless another call was given just
the same: whose answer it repeats would not be known. What follows is the answer to the earlier one without its calls, if
it had a text, and then what a tool returned for each call; of several calls, and where the spans of the tools say
otherwise, nothing is completed but what these spans say, or what the results themselves repeat of what was given. Who is
`unknown` is a tool only where the span of the tool says just that. A mark such as `[tool: search]` stands for a call or
a result: what it was, the span says. An answer may be told as its calls alone, and repeated as the text before them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from retrospan.ingest.interpret.calls.calls import ModelCall
from retrospan.ingest.interpret.messages.message import Message, Part, act_of, parts_of, text_of
from retrospan.ingest.interpret.messages.tool_results import response_of
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.normalize.same_tool import is_same_tool, same_arguments
from retrospan.ingest.interpret.prompts.history import History
from retrospan.ingest.interpret.prompts.left_out_calls import infer_left_out, result_of
from retrospan.ingest.interpret.tree.tree import Tree
from retrospan.ingest.json_text import write_json

#: What stands for a call, or for what it returned: a word, the tool's name, nothing else.
_MARK = re.compile(r"\[([\w-]+): ([\w.:/-]+)\]")
#: How instrumentations call who speaks where they have no name for it.
UNKNOWN = "unknown"
_EMPTY: tuple[object, ...] = ("", [], {})
_NOTHING = object()
#: How a call begins that is written as a text.
_WRITTEN = ("{", "[", "<", "`", "")
#: A shorter text may stand in a result by chance.
_SHORTEST = 4
#: Calls of an agent among which another one that was given the same is looked for.
NEAR = 8
#: The calls of one agent, each with its prompt as it was told.
Told = list[tuple[ModelCall, list[Message]]]


def complete_prompts(calls: Sequence[ModelCall], tree: Tree, history: History) -> None:
    """Give prompts the calls and the results that they leave out, in place."""
    own: dict[str | None, Told] = {}
    for call in calls:
        own.setdefault(call.span.agent_name, []).append((call, call.input))
    history.complete_first(calls, is_stated=any(span.conversation for span in tree.spans))
    tools: _Tools | None = None
    for told in own.values():
        for place, ((before, given), (call, said)) in enumerate(pairwise(told)):
            if not given or len(given) >= len(said) or said[: len(given)] != given or before.span.failed:
                continue
            if _has_double(told, place):
                continue
            tools = tools or _Tools(tree)
            after = said[len(given) :]
            rest = _with_ids(before, after) or _completed(before, after, tools, call.span.sent.started_at)
            if rest is None and before.input is not given:
                rest = after
            if rest is not None:
                call.input = [*before.input, *rest]
                call.history = "inferred" if before.history == "inferred" else "rebuilt"
    infer_left_out(calls, own, tree)


def _has_double(told: Told, place: int) -> bool:
    """Tell whether another call near was given the very same: it may be its answer that a prompt repeats."""
    call, given = told[place]
    return any(
        len(other) == len(given) and other == given and each is not call and not each.span.failed
        for each, other in told[max(0, place - NEAR) : place + NEAR + 1]
    )


class _Tools:
    """The executions of a run, to be found by the call that asked for them."""

    def __init__(self, tree: Tree) -> None:
        self._spans = [span for span in tree.spans if span.operation == "tool"]
        self._by_id = {span.tool_call_id: span for span in self._spans if span.tool_call_id}

    def of(self, part: Part, after: int, before: int) -> NormalizedSpan | None:
        """Return the execution of a call: by id, else the only one between two times that has its name and arguments."""
        known = self._by_id.get(part.get("id", ""))
        if known is not None:
            return known if 0 < known.sent.ended_at <= before else None
        fitting = [
            span
            for span in self._spans
            if not span.tool_call_id
            and after <= span.sent.started_at <= span.sent.done_at <= before
            and is_same_tool(span.tool_name or "", part.get("name", ""))
            and same_arguments(span.arguments, part.get("arguments"))
        ]
        return fitting[0] if len(fitting) == 1 else None


def _completed(
    asking: ModelCall, rest: Sequence[Message], tools: _Tools, before: int
) -> list[Message] | None:
    """Return an answer, the results of its calls and what is said after them; None where these are not told barely."""
    answer = asking.span.output
    asked = [part for message in answer for part in parts_of(message, "tool_call")]
    if not asked or any(map(_tells_calls, rest)):
        return None
    after = _after_answer(answer, asked, rest)
    beside = rest[0]["parts"] if after is None and _tells_text_alone(answer, asked, rest) else []
    after = rest[1:] if beside else after
    if after is None:
        return None
    results: list[Message] = []
    told = [*_told(after)]
    if beside and len(told) != len(asked):
        return None  # somebody may have said it between the calls and their results
    in_order = _stand_in_order(asked, [each[1] for each in told])
    used = 0
    for part in asked:
        sent = asking.span.sent
        tool = tools.of(part, sent.done_at, before) or tools.of(part, sent.started_at, before)
        said = told[used][1] if used < len(told) else _NOTHING
        # Several results stand in the order of their calls, or in that in which they came: the spans say which, or what
        # they repeat of what the calls were given.
        is_unknown = used < len(told) and told[used][2] == UNKNOWN
        is_doubtful = (len(asked) > 1 and not in_order) or is_unknown
        mark = _MARK.fullmatch(said) if isinstance(said, str) else None
        if mark is not None and mark[2] == part.get("name"):
            if tool is None or not (tool.has_result or tool.failed):
                return None
            results.append(_result(part, tool.error_message if tool.failed else tool.result))
        elif tool is not None and _returned_nothing(tool) and said != tool.result:
            results.append(_result(part, tool.result))
            if said != "":
                continue  # an empty text is not a message, unless it stands there
        elif said in (_NOTHING, "") or mark is not None or _contradicts(tool, said):
            return None
        elif not is_doubtful or _confirms(tool, said):
            results.append(_result(part, response_of(said)))
        else:
            return None
        used += 1
    ended = told[used - 1][0] if used else 0
    if used != len(told):
        return None
    if beside:
        answer = [{**answer[0], "parts": [*beside, *answer[0]["parts"]]}, *answer[1:]]
    return [*answer, *results, *after[ended:]]


def _with_ids(asking: ModelCall, rest: Sequence[Message]) -> list[Message] | None:
    """Return what repeats an answer and tells its results with the ids of the calls, where it tells the same calls and as
    many results, all without one; None elsewhere."""
    asked = [part for message in asking.span.output for part in parts_of(message, "tool_call")]
    told = parts_of(rest[0], "tool_call") if rest and rest[0]["role"] == "assistant" else []
    if not told or any(map(_has_id, told)) or not all(map(_has_id, asked)):
        return None
    if list(map(act_of, told)) != list(map(act_of, asked)):
        return None
    ids = [part.get("id", "") for part in asked]
    found = [_named(rest[0], "tool_call", ids)]
    for message in rest[1:]:
        results = parts_of(message, "tool_call_response")
        if not results or any(map(_has_id, results)) or not ids:
            break
        found.append(_named(message, "tool_call_response", ids[: len(results)]))
        ids = ids[len(results) :]
    after = rest[len(found) :]
    is_whole = not ids and not (after and parts_of(after[0], "tool_call_response"))
    return [*found, *after] if is_whole else None


def _has_id(part: Part) -> bool:
    return bool(part.get("id"))


def _named(message: Message, kind: str, ids: Sequence[str]) -> Message:
    """Return a message whose parts of a kind have these ids, in their order."""
    left, parts = iter(ids), [part.copy() for part in message["parts"]]
    for part in parts:
        if part["type"] == kind:
            part["id"] = next(left, "")
    return {**message, "parts": parts}


def _returned_nothing(tool: NormalizedSpan) -> bool:
    """Tell whether an execution returned an empty value; of one that failed a model is told why."""
    return tool.has_result and tool.result in _EMPTY and not tool.failed


def _stand_in_order(asked: Sequence[Part], results: Sequence[object]) -> bool:
    """Tell whether results stand in the order of their calls: there are as many, at least one of them repeats a text that
    its call alone was given, and none what another call alone was given."""
    if len(asked) != len(results):
        return False
    given = [_texts_in(part.get("arguments")) for part in asked]
    told = [result if isinstance(result, str) else write_json(result) for result in results]
    found: set[bool] = set()
    for place, texts in enumerate(given):
        others = set[str]().union(*given[:place], *given[place + 1 :])
        for text in texts - others:
            found |= {at == place for at, said in enumerate(told) if text in said}
    return found == {True}


def _texts_in(arguments: object) -> set[str]:
    values = arguments.values() if isinstance(arguments, dict) else ()
    return {value for value in values if isinstance(value, str) and len(value) >= _SHORTEST}


def _confirms(tool: NormalizedSpan | None, said: object) -> bool:
    """Tell whether a message is what the execution returned, or what it failed with: so its span says."""
    if tool is None:
        return False
    if tool.failed or not tool.has_result:
        return bool(tool.error_message) and (tool.error_message or "") in str(said)
    return write_json(response_of(said)) == write_json(response_of(tool.result))


def _contradicts(tool: NormalizedSpan | None, said: object) -> bool:
    """Tell whether what a prompt says is not what the execution returned, as far as its span says it: objects alone can be
    compared, as frameworks tell models in words of their own what a tool has raised."""
    if tool is None or not tool.has_result or tool.failed:
        return False
    told = response_of(said)
    both = isinstance(told, dict | list) and isinstance(tool.result, dict | list)
    return both and write_json(told) != write_json(tool.result)


def _after_answer(
    answer: list[Message], asked: Sequence[Part], rest: Sequence[Message]
) -> Sequence[Message] | None:
    """Return what stands after an answer that is told without its calls, or with marks in their place."""
    text = "".join(map(text_of, answer)).strip()
    if rest and _is_text(rest[0], "assistant"):
        said = text_of(rest[0]).strip()
        marks = [mark[2] for mark in _MARK.finditer(said[len(text) :])]
        is_marked = marks == [part.get("name") for part in asked] and not _MARK.sub("", said[len(text) :])
        return rest[1:] if said == text or (said.startswith(text) and is_marked) else None
    return None if text else rest


def _tells_text_alone(answer: Sequence[Message], asked: Sequence[Part], rest: Sequence[Message]) -> bool:
    """Tell whether an answer is told as its calls alone, and what repeats it as the text that stood before them: not one
    that writes the calls themselves."""
    if any(map(text_of, answer)) or not rest or not _is_text(rest[0], "assistant"):
        return False
    text = text_of(rest[0])
    return text[:1] not in _WRITTEN and not any(part.get("name", "") in text for part in asked)


def _tells_calls(message: Message) -> bool:
    """Tell whether a message says which call it asks for or answers."""
    return any(
        part["type"] == "tool_call" or (part["type"] == "tool_call_response" and "id" in part)
        for part in message["parts"]
    )


def _told(messages: Sequence[Message]) -> Iterator[tuple[int, object, str]]:
    """Yield the results that messages say barely, each with the place after its message, and who is said to have said it:
    of marks, each one."""
    for place, message in enumerate(messages, 1):
        if message["role"] not in ("tool", UNKNOWN):
            return
        said = _bare(message["parts"][0]) if len(message["parts"]) == 1 else None
        if said is None:
            return
        marks = [mark[0] for mark in _MARK.finditer(said)] if isinstance(said, str) else []
        is_marks = bool(marks) and not _MARK.sub("", str(said))
        yield from ((place, each, message["role"]) for each in (marks if is_marks else [said]))


def _bare(part: Part) -> object:
    """Return what a part of a tool's message says, where it does not say which call it answers."""
    if part["type"] == "tool_call_response":
        said = part.get("response")
        return None if "id" in part else "" if said is None else said
    said = part.get("content") if part["type"] == "text" else None
    return said if isinstance(said, str) else None


def _is_text(message: Message, role: str) -> bool:
    """Tell whether a message of a role is nothing but a text."""
    return message["role"] == role and all(part["type"] == "text" for part in message["parts"])


def _result(asked: Part, response: object) -> Message:
    return {"role": "tool", "parts": [result_of(asked, response)]}
