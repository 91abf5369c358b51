"""When two names are one tool, and two values the same arguments: frameworks write both in their own ways."""

from __future__ import annotations

import string

from retrospan.ingest.interpret.spans.pyrepr import read_repr
from retrospan.ingest.json_text import read_value, write_json

#: How a decorator records what a function was given.
_BY_PLACE = {"args", "kwargs"}
_NOTHING: tuple[object, ...] = ([], {})
#: What cannot stand between an origin and a name.
_OF_A_NAME = frozenset(string.ascii_letters + string.digits)


def is_same_tool(name: str, other: str) -> bool:
    """Tell whether one name is the other with its origin before it: `mail-send`, `mail.send` and `mail__send` are `send`."""
    long, short = (name, other) if len(name) > len(other) else (other, name)
    return long == short or (bool(short) and long.endswith(short) and long[-len(short) - 1] not in _OF_A_NAME)


def same_arguments(given: object, asked: object, depth: int = 3) -> bool:
    """Tell whether an execution's arguments are those asked for, or hold them.

    Frameworks unwrap the only argument (`"Oslo"` for `{"city": "Oslo"}`), wrap all of them (`{"kwargs": {…}}`,
    `{"input_str": "{'city': 'Oslo'}"}`), tell how Python bound them (`{"args": [], "city": "Oslo", "check": true}`), write
    each as a line (`["city: Oslo"]`) or as a text (`{"days": "2"}`).
    """
    if given == asked:
        return True
    if isinstance(asked, dict) and len(asked) == 1 and not isinstance(given, dict):
        (only,) = asked.values()
        if given == only or given == str(only):
            return True
    if not depth or not asked:
        return False
    if isinstance(asked, dict) and (
        _are_lines_of(given, asked) or _are_bound(given, asked) or _are_printed(given, asked)
    ):
        return True
    if isinstance(asked, dict) and (places := _in_places(given)) is not None:
        # A function of a framework is given its arguments as the first, and then what else it may want.
        return read_value(places[0]) == asked or sorted(map(write_json, places)) == sorted(
            map(write_json, asked.values())
        )
    if isinstance(given, str):
        read = read_value(given)
        if isinstance(read, str):
            read = read_repr(given)
        return not isinstance(read, str) and same_arguments(read, asked, 0)
    return isinstance(given, dict) and any(
        same_arguments(value, asked, depth - 1) for value in given.values()
    )


def _are_lines_of(given: object, asked: dict[str, object]) -> bool:
    """Tell whether what was given is told as a list of texts, each an argument with its name before it: `city: Oslo`."""
    return (
        isinstance(given, list)
        and len(given) == len(asked)
        and {line for line in given if isinstance(line, str)}
        == {f"{name}: {value}" for name, value in asked.items()}
    )


def _are_bound(given: object, asked: dict[str, object]) -> bool:
    """Tell whether what was given is told as Python binds it: by name, among options of the framework's own, and beside them
    that nothing was given by place."""
    return (
        isinstance(given, dict)
        and given.get("args") in _NOTHING
        and "args" not in asked
        and asked.items() <= given.items()
    )


def _are_printed(given: object, asked: dict[str, object]) -> bool:
    """Tell whether what was given is told with each value as the text of it."""
    return (
        isinstance(given, dict)
        and given.keys() == asked.keys()
        and all(
            told == asked[name] or (not isinstance(asked[name], str) and told in _texts_of(asked[name]))
            for name, told in given.items()
        )
    )


def _texts_of(value: object) -> tuple[str, str]:
    return str(value), write_json(value)


def _in_places(given: object) -> list[object] | None:
    """Return what a function was given by place, and beside it by name; None where it was given nothing by place."""
    by_place, named = given, None
    if isinstance(given, dict) and "args" in given and given.keys() <= _BY_PLACE:
        by_place, named = given["args"], given.get("kwargs")
    if not isinstance(by_place, list) or not by_place:
        return None
    return [*by_place, *(named.values() if isinstance(named, dict) else ())]


def holds_arguments(given: object, asked: object, by_id: bool) -> bool:
    """Tell whether an execution's arguments are those asked for, or hold them; of one that has the id of the call (`by_id`)
    also where they stand inside, in an object with what its program notes beside them.

    What it was given itself with more beside it, as with defaults, is what it was given.
    """
    if same_arguments(given, asked):
        return True
    if not by_id or not isinstance(asked, dict) or not asked:
        return False
    if not isinstance(given, dict):
        text = given[1:-1] if isinstance(given, str) and given[:1] == given[-1:] == '"' else given
        return (
            isinstance(text, str) and text in asked.values()
        )  # the one that its program was given as a text
    return any(isinstance(inner, dict) and asked.items() <= inner.items() for inner in given.values())
