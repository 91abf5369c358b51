"""When the result of a tool holds nothing, whatever form the nothing has."""

from __future__ import annotations

import ast
import json


def is_empty(result: str | None) -> bool:
    """Return whether a result holds nothing: an empty list, object or text, also inside an envelope."""
    if result is None:
        return False
    try:
        found: object = json.loads(result)
    except ValueError:
        try:
            found = ast.literal_eval(result) if len(result) < 200 else result
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            found = result
    except RecursionError:
        return False
    return _holds_nothing(found)


def _holds_nothing(value: object) -> bool:
    if isinstance(value, dict):
        return all(_holds_nothing(each) for each in value.values())
    if isinstance(value, list | tuple):
        return all(_holds_nothing(each) for each in value)
    return value is None or (isinstance(value, str) and not value.strip())
