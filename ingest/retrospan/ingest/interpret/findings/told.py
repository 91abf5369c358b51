"""What a run was told, and what it answered, as far as a contradiction between the two can be certain. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from functools import cached_property

from retrospan.ingest.interpret.findings.facts import EXECUTED, RunFacts
from retrospan.ingest.interpret.findings.said_values import dates_in, fields_of, numbers_in, worded_numbers
from retrospan.schemas.canonical import ToolCallRow

#: Characters of all that was said, beyond which nothing is compared.
MOST_CHARACTERS = 2_000_000
#: Parts of messages whose content is not text, and marks of texts that were cut.
_OPAQUE = re.compile(
    r'"type":\s*"(?:image|image_url|input_image|audio|video|file|input_file|blob|uri|document)"'
)
_LONGEST_MARK = 60
_CUT = re.compile(r"(?:\.\.\.|…|\[truncated[^\]]*\]|<truncated>)\W*$", re.IGNORECASE)


@dataclass
class Told:
    """`text` is all that the run was told by anyone but its own models, its calls' arguments included."""

    answer: str
    text: str
    results: list[ToolCallRow] = field(default_factory=list)

    @cached_property
    def folded(self) -> str:
        return self.text.casefold()

    @cached_property
    def numbers(self) -> set[Decimal]:
        return numbers_in(self.text) | worded_numbers(self.text)

    @cached_property
    def dates(self) -> set[date]:
        return {day for _, day in dates_in(self.text)}

    @cached_property
    def fields(self) -> dict[str, list[tuple[object, dict[str, object], ToolCallRow]]]:
        """The fields of all results by name, with the object and the call that hold each."""
        found: dict[str, list[tuple[object, dict[str, object], ToolCallRow]]] = {}
        for call in self.results:
            for name, value, holder in fields_of(call.result):
                found.setdefault(name, []).append((value, holder, call))
        return found


def read_told(facts: RunFacts) -> Told | None:
    """Return what can be compared; None if anything that the run was told may not be on record."""
    answer = facts.run.output
    executed = [call for call in facts.tool_calls if call.status in EXECUTED]
    results = [call for call in executed if call.status == "ok" and call.result is not None]
    if not answer or not results or not facts.model_calls or facts.run.is_open:
        return None
    if not any(map(str.isdigit, answer)):
        return None  # no value that could be another
    if any(call.status != "error" and call.result is None for call in executed):
        return None
    if any(call.history == "none" for call in facts.model_calls):
        return None
    if any(_CUT.search((call.result or "")[-_LONGEST_MARK:]) for call in results):
        return None
    said_by_models = {number for call in facts.model_calls for number in call.output_values}
    texts = [
        value.json for value in facts.values if value.kind != "list" and value.number not in said_by_models
    ]
    texts += [text for call in executed for text in (call.arguments, call.result, call.error_message) if text]
    texts += [step.query for step in facts.steps if step.query]
    texts += [text for text in (facts.run.input, facts.run.user_id) if text]
    if sum(map(len, texts)) + len(answer) > MOST_CHARACTERS:
        return None
    text = "\n".join(texts)
    return None if is_opaque(text) else Told(answer, text, results)


def is_opaque(text: str) -> bool:
    """Return whether a text holds what is not text: an image, a file."""
    return _OPAQUE.search(text) is not None
