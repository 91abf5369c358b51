"""How a run ended, and what it was asked and answered."""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from retrospan.ingest.interpret.calls.calls import Calls, ModelCall
from retrospan.ingest.interpret.calls.returned_answers import (
    Answer,
    answer_of,
    returned_after_failure,
    returned_by_root,
    said_before,
    text_in,
)
from retrospan.ingest.interpret.grouping.separate_conversations import SeparateConversations
from retrospan.ingest.interpret.messages.empty_questions import is_empty_question
from retrospan.ingest.interpret.messages.message import Message, parts_of, text_of
from retrospan.ingest.interpret.messages.provider_payloads import parse_question
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.ingest.interpret.normalize.toolspan import unquoted
from retrospan.ingest.interpret.outcome.failed_ends import (
    ended_with_exception,
    ended_with_failure,
    ended_without_return,
)
from retrospan.ingest.interpret.outcome.kept_questions import question_at_end
from retrospan.ingest.interpret.prompts.fields_in_texts import answer_in, question_in
from retrospan.ingest.interpret.spans.pyrepr import read_fields, read_repr
from retrospan.ingest.interpret.steps.run_step import RunStep
from retrospan.ingest.interpret.tree.tree import Tree
from retrospan.schemas import attributes as conventions

#: Under which names a root that returns several things returns its answer.
_ANSWERS = ("answer", "final_answer")
#: What programs write where they were given nothing.
_NOTHING = ("{}", "[]", "null", "None")
#: How Python prints a dictionary.
_PRINTED = "{'"
#: How it prints a message that does not say who speaks, and what another field of it is called.
_PRINTED_FIELDS = "content="
_OF_MESSAGES = ("additional_kwargs", "response_metadata")
#: What programs tell a model beside the words of a person.
_ABOUT = (
    r"<(\w*(?:[_-](?:context|reminder|instructions|info|details|permissions|datetime|date|time)"
    r"|context|environment|datetime))>"
)
_BESIDE = re.compile(rf"{_ABOUT}.*</\1>", re.DOTALL)
#: The same in one text with these words, which it leaves by an empty line.
_BEFORE = re.compile(rf"\s*{_ABOUT}.*?</\1>[ \t]*\r?\n\s*\n", re.DOTALL)


def find_gap(tree: Tree) -> str | None:
    """Return why a run cannot be called complete: not_ended, no_root or missing_parent; None where nothing is missing.

    It has not ended where its root, or all that is at its top, was said to have begun and nothing says that it ended. A
    span that never came is missing, whatever it is known by. A parent in another process, or the single missing parent of one ended agent or workflow span, is a boundary and
    no gap: such a span stands for the root.
    """
    tops = [top for top in tree.roots() if not top.sent.is_placeholder]
    roots = [top for top in tops if not top.sent.parent_span_id or top.sent.has_remote_parent]
    if (roots and roots[0].sent.is_open) or (tops and all(top.sent.is_open for top in tops)):
        return "not_ended"
    missing = tree.missing_parents()
    gaps = {
        parent
        for parent, children in missing.items()
        if not all(child.sent.has_remote_parent for child in children)
        and not (len(missing) == 1 and len(children) == 1 and _is_boundary(children[0]))
    }
    if not gaps and not any(span.sent.is_placeholder for span in tree.spans):
        return None
    return "missing_parent" if roots else "no_root"


def _is_boundary(span: NormalizedSpan) -> bool:
    return span.operation in ("agent", "workflow") and bool(span.sent.ended_at)


def outcome_of(
    tree: Tree,
    gap: str | None,
    steps: list[RunStep],
    answering: NormalizedSpan | None,
    judging: AbstractSet[NormalizedSpan],
    separate: SeparateConversations | None,
) -> tuple[str, str | None]:
    """Return outcome and the reason of an incomplete one.

    `answering` is the model call that said the answer, or led to it; `judging` are the spans that only judge the agent;
    `separate` are its conversations, where they are several.
    """
    if gap is not None:
        return "incomplete", gap
    if any(span.interrupted for span in tree.spans):
        return "incomplete", "interrupted"
    if any(top.failed for top in tree.roots()) or ended_with_failure(tree, judging, answering):
        return "error", None
    if separate is not None and separate.any_failed:
        return "error", None
    if answering is None and (
        (steps and steps[-1].status == "error" and not _returned(tree))
        or ended_with_exception(tree)
        or ended_without_return(tree, judging)
    ):
        return "error", None
    return "ok", None


def _returned(tree: Tree) -> bool:
    """Tell whether the run is a `run` of the program's own that ended: if it had raised, its span would have failed."""
    tops = tree.roots()
    return len(tops) == 1 and tops[0].sent.scope == conventions.SCOPE_NAME and tops[0].sent.ended_at > 0


def find_answer(tree: Tree, models: Sequence[ModelCall]) -> Answer | None:
    """Return the run's final answer: the text of the last of these calls, when it asks for no tool.

    What the agent around it returned is the answer where that is what it had said before, where the last call only asks
    for a tool that ends the run, and where it failed and the agent says that it ended well. Where the root took its
    answer out of the text, that is all of it.
    """
    if not models:
        return None
    last = models[-1]
    answer = text_in(last.span.output, last.ordinal)
    if answer is not None:
        last, answer = said_before(tree, models, answer) or (last, answer)
    elif last.span.failed:
        answer = returned_after_failure(tree, models)
    else:
        answer = returned_by_root(tree, last)
    if answer is None:
        return None
    answer = _taken_out(answer, tree)
    text = answer_in(last.span, answer.text)
    return replace(answer, text=text) if text is not None else None


def find_returned(tree: Tree, calls: Calls) -> str | None:
    """Return the text that the agent at the root of a run returned, or the only one inside of it where it tells none: of a
    run that tells no request to a model, and so no answer of one."""
    if calls.models:
        return None
    agents = [span for span in tree.spans if span.operation in ("agent", "workflow")]
    below: dict[NormalizedSpan | None, list[NormalizedSpan]] = {}
    for span in agents:
        below.setdefault(tree.parent(span), []).append(span)
    around = below.get(None, [])
    while len(around) == 1 and not around[0].failed:
        answer = answer_of(around[0], 0)
        if answer is not None:
            return answer.text
        around = below.get(around[0], [])
    return None


def _taken_out(answer: Answer, tree: Tree) -> Answer:
    """Return the answer with only that part of its text which a root returned: under the name of an answer, or as the only
    thing that it said, where more stands before it, so that it was not cut, and it is whole lines of the text."""
    for root in tree.roots():
        if root.operation not in ("agent", "workflow"):
            continue
        returned = root.framework_output
        said = (returned.get(key) for key in _ANSWERS) if isinstance(returned, dict) else ()
        for text in said:
            if isinstance(text, str) and text and text in answer.text:
                return replace(answer, text=text)
        if len(root.output) == 1 and root.output[0]["role"] == "assistant":
            text = text_of(root.output[0])
            if text and len(text) < len(answer.text) and f"\n{text}\n" in f"{answer.text}\n":
                return replace(answer, text=text)
    return answer


def find_input(tree: Tree, models: Sequence[ModelCall]) -> str | None:
    """Return the user's text of this run: the last user message that its root was given, else that its first model call saw,
    else, where all calls failed and tell nothing, that with which its transcript ends.

    It is empty where the user is known to have said an empty text, and nothing else.
    """
    first = models[0].input if models else []
    for messages in (_root_messages(tree), first):
        for message in reversed(messages):
            text = _own_words(message) if message["role"] == "user" else ""
            text = _unprinted(text, first) if text.startswith(_PRINTED_FIELDS) else text
            if text:
                own = (span.asked for span in tree.spans if span.asked and span.asked in text)
                plain = _as_asked(text, first)
                return next(own, None) or (question_in(models[0].span, plain) if first else plain)
    asked = next((span.asked for span in tree.spans if span.asked), None)
    if asked is None and (last := question_at_end(tree, models)) is not None:
        return _own_words(last) or None
    return "" if asked is None and any(map(is_empty_question, first)) else asked


def _own_words(message: Message) -> str:
    """Return the text of a message without the parts that a program put beside it: what it is about, in an element."""
    texts = [text for part in parts_of(message, "text") if isinstance(text := part.get("content"), str)]
    own = [text for text in texts if not _BESIDE.fullmatch(text.strip())]
    return "\n".join(map(_without_context, own if len(texts) > 1 and any(own) else texts))


def _without_context(text: str) -> str:
    """Return a text without the elements of a program that it begins with, if anything is left."""
    at = 0
    while (before := _BEFORE.match(text, at)) is not None:
        at = before.end()
    return text[at:] if text[at:].strip() else text


def _as_asked(text: str, first: Sequence[Message]) -> str:
    """Return a text without the quotes of JSON, or the question in what Python printed of the arguments of a program, where
    the first model call was given just that."""
    plain = _question_in(text) if text.startswith(_PRINTED) else unquoted(text)
    if plain == text or not isinstance(plain, str):
        return text
    given = [*map(text_of, first)]
    is_plain = any(plain in each for each in given) and not any(text in each for each in given)
    return plain if is_plain else text


def _unprinted(text: str, first: Sequence[Message]) -> str:
    """Return the content of a message that Python printed field by field, where a person said just that to the first model
    call, and nothing where it is not known who did."""
    fields = read_fields(text)
    if not isinstance(fields, dict) or fields.keys().isdisjoint(_OF_MESSAGES):
        return text
    content = fields.get("content")
    said = (_own_words(message) for message in first if message["role"] == "user")
    return content if isinstance(content, str) and content in said else ""


def _question_in(text: str) -> str:
    """Return the question in a printed dictionary, or the text as it is."""
    asked = parse_question(given) if isinstance(given := read_repr(text), dict) else []
    return text_of(asked[0]) if len(asked) == 1 else text


def _root_messages(tree: Tree) -> list[Message]:
    """Return what the root agent or workflow was given, where it says so; else the first messages around the calls."""
    for root in tree.roots():
        if root.operation in ("agent", "workflow", "step"):
            asked = root.input or parse_question(root.framework_input)
            if asked and not _is_nothing(asked):
                return asked
    around = (
        span.input
        or (parse_question(span.framework_input) if span.operation in ("agent", "workflow") else [])
        for span in tree.spans
        if span.operation not in ("inference", "tool")
    )
    return next((messages for messages in around if messages and not _is_nothing(messages)), [])


def _is_nothing(messages: Sequence[Message]) -> bool:
    """Tell whether messages are only what a program writes where it was given nothing."""
    return len(messages) == 1 and text_of(messages[0]) in _NOTHING


def is_resumed(tree: Tree) -> bool:
    """Tell whether a graph was given LangGraph's `Command(resume=…)`, as it is or as the only input."""
    given = (_only_input(span.framework_input) for span in tree.spans)
    return any(
        isinstance(command, dict)
        and command.keys() == {"graph", "update", "resume", "goto"}
        and command["resume"] is not None
        for command in given
    )


def _only_input(given: object) -> object:
    return given["input"] if isinstance(given, dict) and set(given) == {"input"} else given
