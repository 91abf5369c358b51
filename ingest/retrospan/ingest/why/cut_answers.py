"""Answers of models that are not whole, as the API said of them: cut off at a limit of tokens, or withheld."""

from __future__ import annotations

import re
from collections.abc import Iterator

from retrospan.ingest.row_values import whole
from retrospan.ingest.why.columns import quote_of
from retrospan.ingest.why.rows import RunRows
from retrospan.ingest.why.sentence import Basis, Quote, Row, Sentence

_LIMITS = r"length|max_?(output_?|new_?)?tokens|model_length|model_context_window_exceeded"
_WITHHELD = (
    r"content_?filter(ed)?|safety|image_safety|blocklist|prohibited_content|spii|recitation|refusal"
    r"|guardrail_intervened"
)
#: How APIs call such an end: the word alone, or as the last part of the name of a class.
EXPRESSION = rf"(?i)^(\w+\.)*({_LIMITS}|{_WITHHELD})$"
_LIMIT = re.compile(rf"(?i)(\w+\.)*({_LIMITS})$")
_NOT_DONE = ("error", "not_executed", "incomplete", "unknown")
#: A sentence, where it stands, a call that was asked for there and was not done, and whether nothing made up for it.
CutAnswer = tuple[Sentence, float, Row | None, bool]


def cut_answers(rows: RunRows) -> Iterator[CutAnswer]:
    """Yield each such answer. Nothing made up for it where it is the last of the run, or a call that it asked for was not
    done."""
    for row in rows.cut_answers:
        ordinal, step = whole(row, "ordinal"), whole(row, "step")
        reason = quote_of(row, "reason")
        if reason is None:
            continue
        call = next(
            (each for each in rows.calls if each["asked_by"] == ordinal and each["status"] in _NOT_DONE), None
        )
        said: list[str | Quote] = [f"The answer of model call {ordinal} (step {step})"]
        if _LIMIT.match(reason.text):
            tokens = whole(row, "output_tokens")
            said.append(" was cut off at a limit of tokens" + (f", after {tokens:,}" if tokens else ""))
        else:
            said.append(" was withheld or refused")
        said += [": it ended for ", reason, "."]
        if call is not None:
            arguments = quote_of(call, "arguments", "arguments_length")
            said += [" It asked for ", Quote(str(call["tool_name"]))]
            said += [" with ", arguments, "."] if arguments is not None else ["."]
        key = {"run_id": rows.run_id, "ordinal": ordinal, "step": step}
        sentence = Sentence("cut_answer", said, [Basis("model_calls", key)], step, rows.run_id)
        is_last = ordinal == whole(rows.run, "model_calls")
        yield sentence, float("inf") if step is None else step, call, is_last or call is not None
