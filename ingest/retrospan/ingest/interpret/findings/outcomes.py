"""What tool calls returned, as rules compare it: whether they returned the same, and whether that says anything."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from retrospan.ingest.empty_result import is_empty
from retrospan.ingest.interpret.findings.measured_results import unmeasured
from retrospan.ingest.json_text import read_value
from retrospan.schemas.canonical import ToolCallRow

#: So many calls are a loop; of calls whose result says no more than that they were done, so many: keys are pressed and
#: states are waited for again and again.
LEAST, LEAST_ACKNOWLEDGED = 3, 6
Outcome = tuple[str, str]
_NOTHING = re.compile(
    r"(?:there (?:is|are|were) )?(?:no|none|nothing|not found|empty|0|zero|null|n/a)\b[^.!\n]{0,40}[.!]?",
    re.IGNORECASE,
)
_NONE_FOUND = re.compile(
    r"[^.!\n]{0,40}\b(?:not found|no results?|no matches|nothing found)[.!]?", re.IGNORECASE
)
#: Characters up to which a text only says that something was done, and keys of an object that does.
_SHORT, _FEW = 24, 3


def outcome_of(call: ToolCallRow) -> Outcome | None:
    """Return what two calls must share to have come to the same; None if it is not known."""
    if call.status == "ok" and call.result_hash:
        left = unmeasured(call.result) if call.result else None
        return ("ok", call.result_hash if left is None else left)
    if call.status == "error":
        return ("error", f"{call.error_type}: {call.error_message}")
    return None


def same_outcome(calls: Iterable[ToolCallRow]) -> bool:
    """Return whether all calls are known to have come to the same."""
    outcomes = {outcome_of(call) for call in calls}
    return len(outcomes) == 1 and None not in outcomes


def what_came(calls: Sequence[ToolCallRow]) -> str:
    """Return what calls came to that all came to the same, for a sentence that quotes it."""
    equal = len({call.result_hash for call in calls}) == 1
    return "the same" if equal else "the same but for what it measures of itself"


def same_call(one: ToolCallRow, other: ToolCallRow) -> bool:
    """Return whether two calls are of one tool with equal arguments; unknown ones equal nothing."""
    same = one.arguments_hash == other.arguments_hash and one.tool_name == other.tool_name
    return same and bool(one.arguments_hash)


def says_nothing(call: ToolCallRow) -> bool:
    """Return whether a call found nothing: its result is empty, or a short text that says so."""
    if call.status != "ok" or call.result is None:
        return False
    result = unmeasured(call.result) or call.result
    value = read_value(result)
    if isinstance(value, str):
        text = value.strip().strip('"')
        return not text or bool(_NOTHING.fullmatch(text) or _NONE_FOUND.fullmatch(text))
    return is_empty(result)


def acknowledges(call: ToolCallRow) -> bool:
    """Return whether a result says no more than that something was done, or is not yet: `ok`, `{"status": "pending"}`."""
    if call.status != "ok" or call.result is None or call.effect == "read":
        return False
    value = read_value(unmeasured(call.result) or call.result)
    if value is None or (isinstance(value, str) and not value.strip('" ')):
        return True
    if isinstance(value, dict):
        return 0 < len(value) <= _FEW and all(_is_word(each) for each in value.values())
    return _is_word(value) and not says_nothing(call)


def _is_word(value: object) -> bool:
    if isinstance(value, str):
        return 0 < len(value.strip()) <= _SHORT
    return isinstance(value, bool)
