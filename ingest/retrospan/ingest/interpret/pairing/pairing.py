"""Executions of tools, paired with the calls that asked for them, and what each call returned."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from functools import partial
from itertools import chain

from retrospan.ingest.interpret.calls.calls import (
    Calls,
    ModelCall,
    RequestedCall,
    ToolCall,
    messages_once,
)
from retrospan.ingest.interpret.calls.doubled_ids import doubled_ids, without_doubles
from retrospan.ingest.interpret.calls.retelling import Retelling
from retrospan.ingest.interpret.duplicates.single_executions import single_executions
from retrospan.ingest.interpret.duplicates.single_requests import single_requests
from retrospan.ingest.interpret.messages.message import Part, parts_of
from retrospan.ingest.interpret.messages.server_tools import CALL, called_with, response_in, returned_by
from retrospan.ingest.interpret.messages.tool_results import error_of, returned_as, told_error
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.normalize.qualified_ids import UUID
from retrospan.ingest.interpret.normalize.same_tool import holds_arguments, is_same_tool, same_arguments
from retrospan.ingest.interpret.normalize.toolspan import is_around, read_result, tells_output, unquoted
from retrospan.ingest.interpret.pairing.answering_tools import name_answering_tools
from retrospan.ingest.interpret.pairing.asked_executions import pair_executions
from retrospan.ingest.interpret.pairing.asked_models import complete_asked
from retrospan.ingest.interpret.pairing.denied_calls import is_repeated, later_calls
from retrospan.ingest.interpret.pairing.enveloped_results import open_envelopes
from retrospan.ingest.interpret.pairing.executed_ids import take_executed_ids
from retrospan.ingest.interpret.pairing.executions import find_executions
from retrospan.ingest.interpret.pairing.handed_back import handed_back
from retrospan.ingest.interpret.pairing.handovers import find_handovers
from retrospan.ingest.interpret.pairing.joined_results import split_joined_results
from retrospan.ingest.interpret.pairing.kept_exchanges import complete_from_clients
from retrospan.ingest.interpret.pairing.made_up_ids import restore_answered_ids
from retrospan.ingest.interpret.pairing.retold_calls import with_retold_calls
from retrospan.ingest.interpret.pairing.retold_models import complete_models
from retrospan.ingest.interpret.pairing.told_results import results_beside
from retrospan.ingest.interpret.pairing.tried_again import forget_results_of_later_tries
from retrospan.ingest.interpret.pairing.unsaid_answers import complete_unsaid
from retrospan.ingest.interpret.pairing.untold_calls import find_untold_calls
from retrospan.ingest.interpret.pairing.users_alone import forget_speakers
from retrospan.ingest.interpret.prompts.bare_prompts import complete_prompts
from retrospan.ingest.interpret.prompts.fields_in_texts import asked_in_fields
from retrospan.ingest.interpret.prompts.history import History
from retrospan.ingest.interpret.prompts.late_prompts import cut_late_prompts
from retrospan.ingest.interpret.prompts.one_text_prompts import split_one_texts
from retrospan.ingest.interpret.prompts.silent_requests import complete_silent
from retrospan.ingest.interpret.prompts.speakers import name_speakers
from retrospan.ingest.interpret.prompts.untold_prompts import infer_prompts
from retrospan.ingest.interpret.spans.pyrepr import read_repr
from retrospan.ingest.interpret.tree.tree import Tree
from retrospan.ingest.interpret.unfolding.kept_transcripts import complete_from_transcripts
from retrospan.ingest.interpret.unfolding.untold_answers import complete_answers
from retrospan.ingest.json_text import read_value, write_json

#: How classes are called, and hardly a tool.
_CLASS = re.compile(r"(?:[A-Z][a-z0-9]+){2,}")


def read_calls(tree: Tree, history: History, interrupted_or_cut: bool) -> Calls:
    """Return the calls of a run in order.

    `interrupted_or_cut` says that the run did not end properly, so that a call without execution may have happened.
    """
    calls = Calls()
    requests = single_requests(tree)
    executed = single_executions(tree)
    take_executed_ids(requests, executed)
    cut_late_prompts(requests)
    requests = with_retold_calls(tree, requests)
    complete_from_clients(tree, requests)
    complete_models(tree, requests)
    complete_asked(tree, requests)
    forget_speakers(requests, executed)
    name_speakers(requests)
    name_answering_tools(requests, executed)
    complete_answers(tree, requests)
    split_one_texts(tree, requests)
    complete_from_transcripts(tree, requests)
    restore_answered_ids(requests)
    complete_unsaid(tree, requests)
    retold = complete_silent(requests)
    for span in requests:
        whole, how = history.rebuild(span)
        how = "inferred" if span in retold else how
        calls.models.append(ModelCall(len(calls.models) + 1, span, whole, how))
    complete_prompts(calls.models, tree, history)
    split_joined_results(calls.models, tree)
    retelling = Retelling(calls.models)
    retelling.complete_answers()
    asked = [
        RequestedCall(call.ordinal, part.get("id"), part.get("name", ""), part.get("arguments"))
        for call in calls.models
        for message in call.span.output
        for part in parts_of(message, "tool_call")
    ]
    reused = _reused_ids(asked, calls.models) | doubled_ids(asked)
    results = {
        call_id: said for call_id, said in _results_said(calls.models, tree).items() if call_id not in reused
    }
    _note_results(asked, retelling, results)
    asked = without_doubles(asked) or asked_in_fields(tree, calls.models)
    returned = partial(_returned, results)
    pairs = pair_executions(executed, asked, calls.models, tree, returned)
    known = {*results, *(call.call_id for call in asked), *reused}
    for span, call in find_executions(tree, asked, retelling):
        if _said(call, call.call_id, results) is None or tells_output(span):
            read_result(span.fields, span)
        executed.append(span)
        pairs[span] = (call, False)
    for span, call in find_handovers(executed, pairs, asked, calls.models, returned):
        pairs[span] = (call, False)
    for span in executed:
        calls.tools.append(_execution(span, pairs.get(span), results, known))
    forget_results_of_later_tries(calls.tools)
    open_envelopes(calls.tools, results)
    waiting = [call for call in asked if not call.taken]
    given_back = handed_back(tree, calls.models, calls.tools) if waiting else set[tuple[int, str]]()
    for call in waiting:
        if not call.taken:
            tool = _without_execution(call, calls.models, results, interrupted_or_cut)
            if tool.status == "unknown" and (call.by, call.call_id) in given_back:
                tool.status = "not_executed"
            calls.tools.append(tool)
    calls.tools += find_untold_calls(calls, retelling)
    calls.tools += _run_by_providers(calls.models)
    calls.tools.sort(key=lambda tool: _order(tool, calls.models))
    infer_prompts(tree, calls)
    return calls


def _reused_ids(asked: list[RequestedCall], models: list[ModelCall]) -> set[str]:
    """Return the ids that answers to different prompts gave to calls of theirs: there are APIs that count anew each time."""
    ids = [call.call_id for call in asked if call.call_id]
    if len({*ids}) == len(ids):
        return set()
    seen = {(call.call_id, len(models[call.by - 1].input)) for call in asked if call.call_id}
    times = Counter(call_id for call_id, _ in seen)
    return {call_id for call_id, count in times.items() if call_id and count > 1}


def _note_results(asked: list[RequestedCall], retelling: Retelling, results: dict[str, Part]) -> None:
    """Give each call whose id does not tell its result what the prompt says that follows the asking, in place."""
    unclear = {call.by for call in asked if (call.call_id or "") not in results}
    if not unclear:
        return
    told = {by: iter(retelling.results(by - 1)) for by in unclear}
    for call in asked:
        call.result = next(told[call.by]) if call.by in told else None


def _results_said(models: list[ModelCall], tree: Tree) -> dict[str, Part]:
    """Return what each call returned, by call id: as later prompts say first, else as any other span does."""
    said: dict[str, Part] = {}
    around = (r for r in tree.spans if r.operation != "inference")
    others = (message for span in around for message in (*span.input, *span.output))
    given = (message for _, message in messages_once(models))
    for message in chain(given, others):
        for part in parts_of(message, "tool_call_response"):
            if "id" in part:
                said.setdefault(part["id"], part)
    said.update(results_beside(models, tree, said))
    return said


def _said(asked: RequestedCall | None, call_id: str | None, results: dict[str, Part]) -> Part | None:
    """Return the result that a message tells of a call."""
    return (asked.result if asked else None) or results.get(call_id or "")


def _returned(results: dict[str, Part], asked: RequestedCall) -> Part | None:
    return _said(asked, asked.call_id, results)


def _execution(
    span: NormalizedSpan,
    pair: tuple[RequestedCall | None, bool] | None,
    results: dict[str, Part],
    known: Collection[str | None],
) -> ToolCall:
    asked, by_id = pair or (None, False)
    tool = ToolCall(name=span.tool_name or span.sent.name, span=span, asked=asked, matched_by_id=by_id)
    tool.is_unclear = pair is not None and asked is None
    if asked and (is_same_tool(tool.name, asked.name) or not by_id or _is_code(span, asked)):
        tool.name = asked.name
    tool.call_id = span.tool_call_id or (asked.call_id if asked else None)
    is_own = _is_made_up(span, asked) and tool.call_id not in known
    if asked and not by_id and tool.call_id not in results and (asked.call_id in results or is_own):
        tool.call_id = asked.call_id or tool.call_id  # no message knows the id that the span has
    tool.arguments, tool.has_arguments = span.arguments, span.has_arguments
    if asked and (not tool.has_arguments or holds_arguments(tool.arguments, asked.arguments, by_id)):
        tool.arguments, tool.has_arguments = asked.arguments, asked.arguments is not None
    said = _said(asked, tool.call_id, results)
    if span.has_result:
        tool.result, tool.result_source = span.result, "span"
        if said is not None and said.get("response") == (plain := unquoted(span.result)):
            tool.result = plain  # as JSON the span has it, and as it was the model was told
        elif said is not None and (told_list := _unpacked(span.result, said.get("response"))) is not None:
            tool.result, tool.result_source = told_list, "message"
        elif said is not None and is_around(span.result, said.get("response")):
            tool.result = said.get("response")
    elif said is not None and "response" in said and not span.interrupted:
        tool.result, tool.result_source = returned_as(said.get("response")), "message"
    # What only a message tells is told as it would be without a span.
    told = told_error if tool.result_source == "message" else error_of
    failed = span.failed or "is_error" in (said or ()) or told(tool.result) is not None
    is_cut = span.interrupted or ((span.is_unfinished or span.given_up) and tool.result_source is None)
    tool.status = "incomplete" if is_cut else "error" if failed else "ok"
    if span.refused and tool.result_source != "span":
        tool.status = "not_executed"  # what the model was told instead may say so, or be called an error
    return tool


def _is_made_up(span: NormalizedSpan, asked: RequestedCall | None) -> bool:
    """Tell whether an execution with the arguments of a call has for an id a UUID, which that of the call is not: the
    framework made it up."""
    own, other = (span.tool_call_id or ""), (asked.call_id if asked else None) or ""
    is_other = bool(other) and UUID.fullmatch(own) is not None and UUID.fullmatch(other) is None
    return is_other and asked is not None and same_arguments(span.arguments, asked.arguments)


def _is_code(span: NormalizedSpan, asked: RequestedCall) -> bool:
    """Tell whether an execution with the id and the arguments of a call is called after the code that runs it: no attribute
    names its tool, or one has the name of a class, and the arguments are just those."""
    named = span.fields.text(*span.names.tools)
    if not asked.name or (named is not None and span.arguments != asked.arguments):
        return False
    is_class = named is None or _CLASS.fullmatch(named) is not None
    return is_class and holds_arguments(span.arguments, asked.arguments, by_id=True)


def _unpacked(result: object, said: object) -> list[object] | None:
    """Return the list that a model was told, of which the span of the tool has only what is in it."""
    if not isinstance(result, dict) or not (isinstance(said, list) or str(said)[:1] == "["):
        return None
    told = read_value(said)
    told = read_repr(told) if isinstance(told, str) else told
    inside = [result] if result else []
    return told if isinstance(told, list) and write_json(told) == write_json(inside) else None


def _without_execution(
    asked: RequestedCall, models: list[ModelCall], results: dict[str, Part], interrupted_or_cut: bool
) -> ToolCall:
    tool = ToolCall(name=asked.name, span=None, asked=asked, call_id=asked.call_id)
    tool.arguments, tool.has_arguments = asked.arguments, asked.arguments is not None
    said = _said(asked, asked.call_id, results)
    if said is not None:
        if "response" in said:
            tool.result, tool.result_source = returned_as(said.get("response")), "message"
        failed = "is_error" in said or told_error(tool.result, asked.name) is not None
        tool.status = "error" if failed else "ok"
        return tool
    later = later_calls(asked, models)
    if is_repeated(asked, later, models[asked.by - 1]):
        tool.status = "not_executed"
    else:
        tool.status = "incomplete" if interrupted_or_cut and not later else "unknown"
    return tool


def _run_by_providers(models: list[ModelCall]) -> Iterator[ToolCall]:
    """Yield the calls of tools that the provider ran while the model answered: each is told once, in its answer."""
    for call in models:
        for message in call.span.output:
            for place, part in enumerate(parts_of(message, CALL)):
                asked = RequestedCall(
                    call.ordinal, part.get("id"), part.get("name", ""), called_with(part), taken=True
                )
                tool = ToolCall(name=asked.name, span=None, asked=asked, call_id=asked.call_id)
                tool.arguments, tool.has_arguments = asked.arguments, asked.arguments is not None
                said = returned_by(message, part, place)
                if said is None:
                    tool.status = "unknown"
                else:
                    tool.result, tool.result_source = response_in(said), "message"
                    tool.status = "error" if "is_error" in said else "ok"
                yield tool


def _order(tool: ToolCall, models: list[ModelCall]) -> tuple[int, int, int]:
    """Return where a call stands: an execution at its own time, one without after the call that asked for it."""
    if tool.span is not None:
        return (tool.span.sent.started_at, tool.span.sent.ended_at, 0)
    asking = models[tool.asked.by - 1].span.sent if tool.asked else None
    return (max(asking.ended_at, asking.started_at) if asking else 0, 0, 1)
