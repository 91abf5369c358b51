"""How the act of a span ended, by the attributes that are named for that: it failed, or somebody refused it."""

from __future__ import annotations

import re

from retrospan.ingest.interpret.messages.tool_results import NO_ERROR
from retrospan.ingest.interpret.spans.name_words import DECIDED, ENDED, ERROR, SUCCESS
from retrospan.ingest.interpret.spans.span_fields import SpanFields
from retrospan.schemas import semconv

#: How a span says that it failed.
_FAILED = ("error", "failed", "failure")
#: How it says that somebody, or a policy, did not let it happen.
_REFUSED = frozenset(
    ("blocked", "decline", "declined", "denied", "deny", "disallowed", "refused", "reject", "rejected")
)
#: How it says that it was given up: what it was to do may have happened.
_GIVEN_UP = frozenset(("aborted", "canceled", "cancelled"))
#: What went well or not by itself: of an agent's work success may be what somebody thinks of it.
_SUCCEEDING = ("tool", "inference")
#: What a list of messages has in it of which one ended so.
_ENDED_BADLY = re.compile(r"""finish_reason['"]\s*:\s*['"](?:error|failed)['"]""")


def tells_failure(places: SpanFields, operation: str) -> bool:
    """Tell whether an attribute says that something failed, or did not succeed, or which error there was."""
    if any(_word(end) in _FAILED for end in places.said(ENDED)):
        return True
    if any(
        error is True or (isinstance(error, str) and _unquoted(error) not in NO_ERROR)
        for error in places.said(ERROR)
    ):
        return True
    return operation in _SUCCEEDING and any(_word(said) == "false" for said in places.said(SUCCESS))


def tells_failed_answer(places: SpanFields) -> bool:
    """Tell whether each message of an answer says that it ended with an error: none came, whatever else it says."""
    told = places.any(semconv.OUTPUT_MESSAGES)
    if isinstance(told, str) and not _ENDED_BADLY.search(told):
        return False
    said = places.read(told)
    ends = (
        [each.get("finish_reason") for each in said if isinstance(each, dict)]
        if isinstance(said, list)
        else []
    )
    return bool(ends) and all(end in _FAILED for end in ends)


def tells_refusal(places: SpanFields) -> bool:
    """Tell whether an attribute says that something was denied, blocked or not approved: then it did not happen."""
    if any(_word(end) in _REFUSED for end in places.said(ENDED)):
        return True
    return any(
        _word(said) in _REFUSED or (name.endswith("approved") and _word(said) == "false")
        for name, said in places.named(DECIDED)
    )


def tells_giving_up(places: SpanFields) -> bool:
    """Tell whether an attribute says that something was cancelled while it ran."""
    return any(_word(end) in _GIVEN_UP for end in places.said(ENDED))


def _word(value: object) -> str:
    return str(value).strip('"').lower() if isinstance(value, str | bool) else ""


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text
