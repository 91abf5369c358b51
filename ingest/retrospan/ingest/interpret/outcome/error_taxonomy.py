"""Origin and class of an error from its type and message, by rules that docs/semantics.md states."""

from __future__ import annotations

import re

#: A limit of how the agent is built: of its context, its turns, its tools. More tries of the same cannot help.
_LIMITS = (
    r"recursion|max(imum)?[ _]?(turn|iteration|step)|(turn|iteration|step)s?[ _]?limit|usage[ _]?limit"
    r"|too many (turns|iterations|steps)"
)
_NO_TOOL = r"(unknown|no such|undefined) (tool|function)|(tool|function)\b.{0,80}?\b(not found|does not exist|is not defined)"
_ARCHITECTURAL = re.compile(
    rf"context.{{0,20}}(length|window)|prompt is too long|too many tokens|token limit|{_LIMITS}|{_NO_TOOL}"
    r"|out ?of ?memory|memoryerror|not ?implemented",
    re.IGNORECASE,
)
_TRANSIENT = re.compile(
    r"time[ds]?[ _-]?out|rate[ _]?limit|too ?many ?requests|overloaded|unavailable|temporar|throttl"
    r"|connection|connecterror|reset by peer|broken ?pipe|locked|lock ?wait|deadlock|conflict|internal ?server",
    re.IGNORECASE,
)
_SYSTEMATIC = re.compile(
    r"validation|invalid|bad ?request|unauthori[sz]ed|forbidden|permission|denied|authentication|not ?found"
    r"|missing|required|unexpected|unsupported|not supported|type ?error|value ?error|key ?error|attribute ?error|index ?error"
    r"|assertion|zero ?division|syntax|pars(e|ing)|decode|schema",
    re.IGNORECASE,
)
#: Where a status of HTTP stands: alone, at the beginning, or after words that announce it.
_STATUS = re.compile(
    r"(?:^|\b(?:error|status|http)(?:[ _]?(?:code|error|status))?\W{1,3})([45]\d\d)\b", re.IGNORECASE
)
_TRANSIENT_STATUS = frozenset({408, 409, 423, 425, 429, 500, 502, 503, 504, 529})

_BAD_CALL = re.compile(
    rf"{_NO_TOOL}|validation|invalid.{{0,20}}(argument|param|input|json)|unexpected keyword|missing.{{0,40}}(argument|param|required)"
    r"|required.{0,20}(argument|param|property)|schema|jsondecode",
    re.IGNORECASE,
)
_UNREADABLE = re.compile(
    r"pars(er|e|ing)|jsondecode|validation ?error|structured ?output|unexpected ?model", re.IGNORECASE
)
_TURNS = re.compile(_LIMITS, re.IGNORECASE)


def class_of(
    error_type: str | None, message: str | None, succeeded_later: bool, failed_again: bool
) -> str | None:
    """Return transient, systematic or architectural; None where nothing tells."""
    said = _joined(error_type, message)
    if _ARCHITECTURAL.search(said):
        return "architectural"
    statuses = {int(found) for text in (error_type, message) for found in _STATUS.findall(text or "")}
    if succeeded_later or statuses & _TRANSIENT_STATUS or (not statuses and _TRANSIENT.search(said)):
        return "transient"
    if statuses or failed_again or _SYSTEMATIC.search(said):
        return "systematic"
    return None


def origin_of_tool(
    name: str, offered: object, broken_arguments: bool, error_type: str | None, message: str | None
) -> str:
    """Return whether a tool was called wrongly, or was called well and answered with an error."""
    names = _names(offered)
    wrong = broken_arguments or (names is not None and name not in names)
    return "tool_invocation" if wrong or _BAD_CALL.search(_joined(error_type, message)) else "tool_response"


def origin_of_model(error_type: str | None, message: str | None) -> str:
    """Return whether the model gave no answer, or one that could not be read."""
    return "interpretation" if _UNREADABLE.search(_joined(error_type, message)) else "reasoning"


def origin_of_rest(error_type: str | None, message: str | None) -> str:
    """Return whether the agent came to no end, or its own code failed on what it had."""
    return "reasoning" if _TURNS.search(_joined(error_type, message)) else "interpretation"


def _joined(error_type: str | None, message: str | None) -> str:
    # Messages may hold whole requests: what they are about stands at the beginning.
    return f"{error_type or ''} {(message or '')[:2000]}"


def _names(offered: object) -> set[str] | None:
    """Return the names of the tools that a call offered; None where they are not all known."""
    if not isinstance(offered, list) or not offered:
        return None
    names: set[str] = set()
    for tool in offered:
        inner = tool.get("function") if isinstance(tool, dict) else None
        place = inner if isinstance(inner, dict) else tool
        name = place.get("name") if isinstance(place, dict) else None
        if not isinstance(name, str):
            return None
        names.add(name)
    return names
