"""When two values, messages, tools or parameters are the same: everything that is noise is taken away here.

docs/bundles.md states each of these rules. What they return are JSON values in a form in which equal meaning is equal
text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from retrospan.schemas.bundle.json_values import Json

#: Names of parameters that change what a model answers, by the names that providers and conventions give them.
_PARAMETERS = {
    "temperature": ("temperature",),
    "top_p": ("top_p", "topp"),
    "top_k": ("top_k", "topk"),
    "max_tokens": (
        "max_tokens",
        "maxtokens",
        "max_completion_tokens",
        "max_output_tokens",
        "maxoutputtokens",
        "num_predict",
    ),
    "stop": ("stop", "stop_sequences", "stopsequences"),
    "seed": ("seed",),
    "frequency_penalty": ("frequency_penalty", "frequencypenalty"),
    "presence_penalty": ("presence_penalty", "presencepenalty"),
    "choices": ("n", "choice.count", "choice_count", "candidate_count", "candidatecount"),
    "tool_choice": ("tool_choice", "toolchoice"),
    "parallel_tool_calls": ("parallel_tool_calls", "parallel_function_calling"),
    "reasoning_effort": ("reasoning_effort",),
    "response_format": ("response_format",),
}
#: What a parameter is where it is not sent. Some instrumentations record these, as providers report them with the answer.
USUAL: Mapping[str, Json] = {
    "temperature": 1,
    "top_p": 1,
    "choices": 1,
    "frequency_penalty": 0,
    "presence_penalty": 0,
    "seed": 0,
    "tool_choice": "auto",
    "parallel_tool_calls": True,
    "response_format": {"type": "text"},
}
#: How OpenAI's client prints a parameter that is not sent.
_NOT_GIVEN = "NOT_GIVEN"
#: The day of a model's version at the end of its name.
_DAY = re.compile(r"[-@]\d{4}-?\d{2}-?\d{2}$")
_NAMES = {name: canonical for canonical, names in _PARAMETERS.items() for name in names}
#: What schemas of arguments say that no model is told by, or that clients add on the way.
_SCHEMA_NOISE = frozenset({"$schema", "additionalProperties", "strict", "title"})
#: Of schemas: keys whose value maps names to schemas, where a name may be any word.
_NAMED_SCHEMAS = frozenset({"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"})
#: Values that are nested deeper cannot be meant as arguments or results: text that holds them stays text.
MAX_DEPTH = 200
#: The same with the lists and objects that a request has around them.
MAX_REQUEST_DEPTH = MAX_DEPTH + 50
#: What the text of a JSON value begins with, after white space.
_JSON_STARTS = frozenset('{["-0123456789tfn')
#: The built-in type first: asking an abstract class costs ten times as much.
OBJECTS = (dict, Mapping)
_CONTAINERS = (dict, list, tuple, Mapping)
#: Told by their types, what is none of these costs a tenth: an abstract class is asked of everything else.
_SCALARS = frozenset({str, int, float, bool, type(None)})
#: Larger whole numbers are not exact as floats.
_EXACT = 1 << 53


def canonical_value(value: Json) -> Json:
    """Return the value with one spelling for each number: 1.0 is 1, and True stays what it is."""
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) <= _EXACT else value
    if isinstance(value, OBJECTS):
        return {str(key): canonical_value(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [canonical_value(each) for each in value]
    return value


def canonical_data(value: Json) -> Json:
    """Return arguments or a result as the value that they are, whether they were sent as text or not.

    Text is read until it is not JSON any more: one side may have written once as text what the other wrote twice.
    Nothing is null, whether it is an empty text, list or object.
    """
    while True:
        if isinstance(value, list | tuple) and value and (texts := _texts_of_blocks(value)) is not None:
            value = "\n".join(texts)
        if not isinstance(value, str):
            return None if value in ([], {}, ()) else canonical_value(value)
        read = _read(value)
        if read == value and isinstance(read, str):
            return read or None
        value = read


def _texts_of_blocks(value: Sequence[Json]) -> list[str] | None:
    """Return the texts of a list of blocks of text, as tools of several providers answer; None if it is anything else."""
    texts = list[str]()
    for block in value:
        if not isinstance(block, Mapping) or block.get("type") not in ("text", "input_text", "output_text"):
            return None
        text = block.get("text", block.get("content"))
        if not isinstance(text, str):
            return None
        texts.append(text)
    return texts


def _read(text: str) -> Json:
    """Return the JSON value of a text; a text that is not JSON without its white space at the ends."""
    text = text.strip()
    # Told by its first letter, prose costs nothing: every message of a conversation is read again with each request.
    if text[:1] not in _JSON_STARTS:
        return text
    try:
        value: Json = _DECODE(text)
    except (ValueError, RecursionError):
        return text
    return text if nests_deeper(value, MAX_DEPTH) else value


def nests_deeper(value: Json, depth: int) -> bool:
    """Tell whether lists and objects lie in each other more often than that."""
    level = [value] if isinstance(value, _CONTAINERS) else []
    for _ in range(depth):
        level = [
            each
            for container in level
            for each in (
                container.values() if type(container) is dict or isinstance(container, OBJECTS) else container
            )
            if type(each) not in _SCALARS and isinstance(each, _CONTAINERS)
        ]
        if not level:
            return False
    return bool(level)


def may_nest_deeper(body: bytes, depth: int) -> bool:
    """Tell whether lists and objects of a JSON text may lie in each other more often than that: False is sure."""
    # Brackets in texts count too. Each round takes the innermost pairs away; it costs a hundredth of a look at the
    # values.
    brackets = body.translate(None, _NO_BRACKETS)
    for _ in range(depth):
        if not brackets:
            return False
        left = brackets.replace(b"{}", b"").replace(b"[]", b"")
        if len(left) == len(brackets):
            return True
        brackets = left
    return bool(brackets)


def _refuse(constant: str) -> Json:
    raise ValueError(f"{constant} is not JSON")


_NO_BRACKETS = bytes({*range(256)} - {*b"[]{}"})
_DECODE = json.JSONDecoder(parse_constant=_refuse).decode


def canonical_parameters(parameters: Mapping[str, Json]) -> dict[str, Json]:
    """Return the parameters that matter under one name each; what is not on the list of these, or null, is noise."""
    found = dict[str, Json]()
    for name, value in parameters.items():
        canonical = _NAMES.get(str(name).lower().removeprefix("gen_ai.request."))
        if canonical is None or value is None or value in ("", _NOT_GIVEN):
            continue
        if canonical == "stop" and isinstance(value, str):
            value = [value]
        found[canonical] = canonical_value(value)
    return found


def canonical_model(model: str) -> str:
    """Return the model without the provider before it: openai/gpt-5 and models/gemini-3 are named by what follows."""
    return model.strip().rsplit("/", 1)[-1]


def day_of(model: str) -> str:
    """Return the day at the end of a model's name, with the dash before it; '' if there is none."""
    found = _DAY.search(model)
    return found[0] if found else ""


def canonical_tools(tools: Iterable[Json]) -> list[dict[str, Json]]:
    """Return the tools in the order of their names: name, description and schema, those that are said."""
    found = [_tool(each) for tool in tools for each in _declared(tool)]
    return sorted(found, key=lambda tool: str(tool["name"]))


def _declared(tool: Json) -> Iterator[Mapping[str, Json]]:
    """Yield what a tool is called, and how, out of the envelopes that providers put around it."""
    if isinstance(tool, str):
        yield {"name": tool}
    elif isinstance(tool, Mapping):
        several = tool.get("function_declarations", tool.get("functionDeclarations"))
        inner = tool.get("function", tool.get("toolSpec"))
        if isinstance(several, list | tuple):
            for each in several:
                yield from _declared(each)
        elif isinstance(inner, Mapping):
            yield inner
        else:
            yield tool


def _tool(tool: Mapping[str, Json]) -> dict[str, Json]:
    name = tool.get("name") or tool.get("type") or ""
    found: dict[str, Json] = {"name": str(name)}
    description = tool.get("description")
    if isinstance(description, str) and description.strip():
        found["description"] = "\n".join(line.strip() for line in description.strip().splitlines())
    for key in (
        "parameters",
        "input_schema",
        "inputSchema",
        "parameters_json_schema",
        "parametersJsonSchema",
    ):
        schema = tool.get(key)
        if isinstance(schema, str):
            schema = _read(schema)
        if isinstance(schema, Mapping):
            inner = schema.get("json")
            found["parameters"] = _schema(inner if isinstance(inner, Mapping) else schema)
            break
    return found


def _schema(schema: Json) -> Json:
    if isinstance(schema, list | tuple):
        return [_schema(each) for each in schema]
    if not isinstance(schema, Mapping):
        return canonical_value(schema)
    found = dict[str, Json]()
    for key, value in schema.items():
        if key in _SCHEMA_NOISE:
            continue
        if key in _NAMED_SCHEMAS and isinstance(value, Mapping):
            found[key] = {str(name): _schema(each) for name, each in value.items()}
        elif key == "required" and isinstance(value, list | tuple):
            found[key] = sorted(map(str, value))
        elif key == "type" and isinstance(value, str):
            found[key] = value.lower()
        elif key in ("enum", "const", "default", "examples"):
            found[key] = canonical_value(value)
        else:
            found[key] = _schema(value)
    return found


def has_defaults(schema: Json) -> bool:
    """Tell whether a canonical schema says of any argument what it is where it is not given."""
    return without_defaults(schema) != schema


def without_defaults(schema: Json) -> Json:
    """Return a canonical schema that says of no argument what it is where it is not given."""
    if isinstance(schema, list | tuple):
        return [without_defaults(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {
        key: {name: without_defaults(each) for name, each in value.items()}
        if key in _NAMED_SCHEMAS and isinstance(value, Mapping)
        else value
        if key in ("enum", "const", "examples")
        else without_defaults(value)
        for key, value in schema.items()
        if key != "default"
    }
