"""What a tool was given and returned, out of the objects that frameworks hand to the code that runs their tools.

Such an object names the tool and holds its arguments; or it lists its parameters, each with its name and its value; and
what comes back may be a message of the tool behind a truth value that says whether it went well.
"""

from __future__ import annotations

from retrospan.ingest.interpret.spans.pyrepr import read_repr
from retrospan.ingest.json_text import Unreadable, read_json, read_value

#: A call as models' APIs write it, and what may stand beside name and arguments.
_CALL, _BESIDE = {"name", "arguments"}, {"id", "type"}
#: A parameter as AWS' agents write it.
_PARAMETER, _TYPED = {"name", "value"}, {"type"}
#: Types of which the value is not the text that it is told as.
_READ = ("integer", "number", "boolean", "array", "object")
_SPEAKERS = ("tool", "function")


def arguments_in(given: object, tool: str | None) -> object:
    """Return the arguments in the call of a tool, in a list of its parameters, or before the options of a call; anything else
    as it is."""
    if _options_of(given):
        return given["args"][0] if isinstance(given, dict) else given
    if isinstance(given, dict) and _CALL <= given.keys() <= _CALL | _BESIDE and given["name"] == tool:
        arguments = read_value(given["arguments"])
        return arguments if isinstance(arguments, dict) else given
    if isinstance(given, list) and given and all(map(_is_parameter, given)):
        named = {each["name"]: _value_of(each) for each in given}
        return named if len(named) == len(given) else given
    return given


def call_id_in(given: object) -> str | None:
    """Return the id of the call in the options with which a function was called."""
    call_id = _options_of(given).get("toolCallId")
    return call_id if isinstance(call_id, str) and call_id else None


def _options_of(given: object) -> dict[str, object]:
    """Return what stands behind the arguments of a function that executes a tool, where it tells the call's id; else {}."""
    args = given["args"] if isinstance(given, dict) and given.keys() == {"args"} else None
    if not isinstance(args, list) or len(args) != 2:
        return {}
    arguments, options = args
    is_call = isinstance(arguments, dict) and isinstance(options, dict) and "toolCallId" in options
    return options if is_call else {}


def said_behind_fate(result: object) -> tuple[bool, object] | None:
    """Return whether a call went well, and what the tool's message says, of a pair of both; None of anything else."""
    if not isinstance(result, list | tuple) or len(result) != 2:
        return None
    went_well, message = result
    if not isinstance(went_well, bool) or not isinstance(message, dict):
        return None
    if message.get("role") not in _SPEAKERS or "content" not in message:
        return None
    content = message["content"]
    printed = read_repr(content) if isinstance(content, str) else content
    return went_well, content if isinstance(printed, Unreadable) else printed


def _is_parameter(each: object) -> bool:
    return (
        isinstance(each, dict)
        and _PARAMETER <= each.keys() <= _PARAMETER | _TYPED
        and isinstance(each["name"], str)
        and bool(each["name"])
    )


def _value_of(parameter: dict[str, object]) -> object:
    value = parameter["value"]
    if not isinstance(value, str) or parameter.get("type") not in _READ:
        return value
    read = read_json(value)
    return value if isinstance(read, Unreadable) else read
