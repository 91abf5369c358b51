"""What a golden run is held to, as one line each, and whether a run does it.

tools = search_docs, send_email      these tools were called, in this order, and no others
search_docs <= 3                     a tool was called so often at most
search_docs.query = "refund policy"  a call of the tool had this argument
answer ~ 30 days                     the final answer holds these words, in any case
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from retrospan.schemas.bundle.difference import first_difference_of_values
from retrospan.schemas.bundle.form import RunRecord

_FORMS = "tools = NAME, NAME; NAME <= NUMBER; NAME.ARGUMENT = JSON; answer ~ WORDS"
_AT_MOST = re.compile(r"(?P<tool>[^\s<]+)\s*<=\s*(?P<most>\d{1,6})")
_ARGUMENT = re.compile(r"(?P<tool>[^\s=.]+)\.(?P<argument>[^\s=]+)\s*=\s*(?P<value>.+)", re.DOTALL)
_TOOLS = re.compile(r"tools\s*=(?P<names>.*)", re.DOTALL)
_ANSWER = re.compile(r"answer\s*~\s*(?P<words>.+)", re.DOTALL)


def check_expectation(text: str) -> None:
    """Raise ValueError if this is not an expectation."""
    unmet(text, RunRecord(run_id=""))


def unmet(text: str, run: RunRecord) -> str | None:
    """Return what a run does instead of what is expected, None if it does that. Raises ValueError if this is not an
    expectation.
    """
    said = text.strip()
    calls = [call for call in run.tool_calls() if call.executed is not False]
    if found := _TOOLS.fullmatch(said):
        wanted = [name.strip() for name in found["names"].split(",") if name.strip()]
        names = [call.name for call in calls]
        return None if names == wanted else f"it called {', '.join(names) or 'no tool'}"
    if found := _ANSWER.fullmatch(said):
        words = " ".join(found["words"].split()).casefold()
        answer = " ".join((run.answer or "").split()).casefold()
        return None if words in answer else f"it answered {run.answer!r}"
    if found := _AT_MOST.fullmatch(said):
        times = sum(call.name == found["tool"] for call in calls)
        return None if times <= int(found["most"]) else f"it called {found['tool']} {times} times"
    if found := _ARGUMENT.fullmatch(said):
        try:
            value: object = json.loads(found["value"])
        except (ValueError, RecursionError) as error:
            raise ValueError(
                f"'{text}': {found['value']} is not JSON; a text stands between quotes"
            ) from error
        given = [call.arguments for call in calls if call.name == found["tool"]]
        held = [
            each[found["argument"]]
            for each in given
            if isinstance(each, Mapping) and found["argument"] in each
        ]
        if any(first_difference_of_values("", value, each) is None for each in held):
            return None
        shown = ", ".join(json.dumps(each, ensure_ascii=False) for each in held[:5])
        return f"{found['tool']} was called with {found['argument']} {shown}" if held else "no call has it"
    raise ValueError(f"'{text}' is not an expectation. These are: {_FORMS}")
