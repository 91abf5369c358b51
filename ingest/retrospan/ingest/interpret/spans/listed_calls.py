"""Lists of calls, by what they and their fields are called."""

from __future__ import annotations

import re

#: How a list of calls is called, and what each was given.
_OF_CALLS = re.compile(r"(?i)(?:tool|call|function)s?\Z")
_OF_ARGUMENTS = re.compile(r"arg|input|param")


def are_calls(told: tuple[str, object]) -> bool:
    """Tell whether a value is a list of calls, each with its id, its name and its arguments, under a name that says so."""
    name, listed = told
    return (
        isinstance(listed, list)
        and bool(listed)
        and _OF_CALLS.search(name) is not None
        and all(isinstance(each, dict) and len(each) >= 3 and _is_call(each) for each in listed)
    )


def _is_call(value: dict[str, object]) -> bool:
    told = [key.lower() for key, said in value.items() if said is not None]
    return (
        any(key.endswith("id") for key in told)
        and any(key.endswith("name") for key in told)
        and any(_OF_ARGUMENTS.search(key) for key in told)
    )
