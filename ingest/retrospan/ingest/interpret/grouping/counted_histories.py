"""Requests in traces of their own whose prompts leave out every call and every result: only the count of tokens tells that
one goes on from another.

The next prompt then is told as the last one with the text of its answer, and is counted longer than both; the text may be
left out as well, where the answer says that it ended for tools. An answer without a text has to say so, or to be told as
empty: where answers are not told at all, prompts may be longer by what else is not told. A new message of the user is another
turn, and so is what follows an answer that ended for nothing: the message may be left out. It is the same process that asks:
another one may have a longer prompt of a system that is not told, and is counted longer for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from retrospan.ingest.interpret.calls.empty_answers import is_told_as_empty
from retrospan.ingest.interpret.messages.finish_reasons import FOR_TOOLS
from retrospan.ingest.interpret.messages.message import Message, text_of
from retrospan.ingest.interpret.normalize.normalized_span import NormalizedSpan
from retrospan.schemas.hashing import hash_of

#: Who speaks in a prompt that leaves out calls and results.
_SPEAKERS = ("system", "user", "assistant")
#: What may be around a request or inside of it.
_SILENT = ("workflow", "inference", "step", "other")


@dataclass(frozen=True, slots=True)
class CountedHistory:
    """What one request tells of its turn, of which only the count of tokens says how far it has come.

    `asked` stands for what a user and a system said, to which model, by which process. `said` are the texts of the model in
    the prompt, `answer` is that of its answer, '' for none, which `ended_for_tools` or not; None: it does not say.
    `input_tokens` are those of the prompt, `all_tokens` of both.
    """

    asked: str
    said: tuple[str, ...]
    answer: str
    ended_for_tools: bool | None
    input_tokens: int
    all_tokens: int

    @property
    def ends_turn(self) -> bool:
        """Whether nothing goes on from the answer: it ended for nothing."""
        return bool(self.answer) and self.ended_for_tools is False

    def goes_on_from(self, other: CountedHistory) -> bool:
        """Tell whether this prompt held the other one, and its answer."""
        if self.input_tokens <= other.all_tokens or other.ends_turn:
            return False
        leaves_out = self.said == other.said and bool(other.ended_for_tools or not other.answer)
        retold = (*other.said, other.answer)
        return leaves_out or self.said == retold


def counted_history(spans: Sequence[NormalizedSpan]) -> CountedHistory | None:
    """Return what the only span of a trace that says anything tells of its turn, None where calls are told, or anything else
    tells the turn."""
    telling = [span for span in spans if not _says_nothing(span)]
    if len(telling) != 1 or all(span.sent.parent_span_id for span in spans):
        return None
    (span,) = telling
    given, made = span.tokens.input, span.tokens.output
    if span.operation != "inference" or span.failed or not (given and made):
        return None
    if span.conversation or span.previous_response_id or span.stores_history:
        return None
    if not span.input or not all(map(_is_text, (*span.input, *span.output))):
        return None
    ended_for_tools = any(map(FOR_TOOLS.search, span.finish_reasons)) if span.finish_reasons else None
    if not (span.output or ended_for_tools or is_told_as_empty(span)):
        return None
    told = [(message["role"], text_of(message).strip()) for message in span.input]
    system = [part.get("content") for part in span.system]
    asked_by = [span.sent.scope, span.request_model, sorted(map(str, span.sent.resource.items()))]
    return CountedHistory(
        hash_of(["counted", asked_by, system, [list(each) for each in told if each[0] != "assistant"]]),
        tuple(text for role, text in told if role == "assistant" and text),
        " ".join(filter(None, (text_of(message).strip() for message in span.output))),
        ended_for_tools,
        given,
        given + made,
    )


def _says_nothing(span: NormalizedSpan) -> bool:
    """Tell whether a span around a request, or inside of it, tells nothing that was said or done."""
    told = (span.input, span.output, span.framework_input, span.framework_output, span.tokens.input)
    return span.operation in _SILENT and not (any(told) or span.failed)


def _is_text(message: Message) -> bool:
    return message["role"] in _SPEAKERS and all(
        part["type"] in ("text", "reasoning") for part in message["parts"]
    )
