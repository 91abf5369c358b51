"""The id that a model's API gave a response, where a span holds the whole response and no attribute names the id.

Frameworks keep a response in a form of their own, and give runs and messages ids as well: one is the API's where it has the
form that one of the APIs gives them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from retrospan.ingest.interpret.messages.provider_payloads import flat
from retrospan.ingest.json_text import read_value

#: Shorter ones are counted or drawn anew by servers that only imitate an API, and come again.
_GIVEN = r"(?:chatcmpl|cmpl|resp|msg|gen)[-_][\w-]{8,}"
_ID = re.compile(_GIVEN)
_IN_TEXT = re.compile(rf'"id": ?"{_GIVEN}"')
#: Where a response, or what is told beside its answer, lies in an object of a framework.
_INNER = (
    "raw",
    "response",
    "llm_output",
    "llmOutput",
    "response_metadata",
    "responseMetadata",
    "message",
    "kwargs",
)


def find_response_id(held: object) -> str | None:
    """Return the id of the one response that a value holds."""
    if isinstance(held, str) and not _IN_TEXT.search(held):
        return None
    return next(_ids(read_value(held)), None)


def _ids(value: object, depth: int = 5) -> Iterator[str]:
    """Yield the ids of a response, that of the response itself before that of a message of a framework."""
    if not isinstance(value, dict):
        return
    said = value.get("id")
    is_message = "response_metadata" in value or "additional_kwargs" in value
    if not is_message and isinstance(said, str) and _ID.fullmatch(said):
        yield said
    for key in _INNER if depth else ():
        if key in value:
            yield from _ids(value[key], depth - 1)
    made = [*flat(value["generations"])] if depth and "generations" in value else []
    if len(made) == 1:  # of several it is not known whether they are of one response
        yield from _ids(made[0], depth - 1)
    if is_message and isinstance(said, str) and _ID.fullmatch(said):
        yield said
