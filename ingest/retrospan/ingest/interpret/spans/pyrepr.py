"""Reads the text that Python prints for its objects: literals, and calls of constructors as objects with their keywords.

Some instrumentations send `str()` of a message or a result. Only what is whole and unambiguous is read; nothing is
evaluated.
"""

from __future__ import annotations

import ast
import re

from retrospan.ingest.json_text import Unreadable

#: Longer text is left alone: parsing costs a hundred times its size in memory.
MAX_CHARS = 200_000

#: `<MessageRole.USER: 'user'>` and `<Kind.A: 1>`: an enumeration's member, read as its value.
_ENUM = re.compile(r"<[A-Za-z_][\w.]*: ('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|-?\d+)>")
#: What is printed of an object that has no other form: nothing is known of it.
_FORMLESS = re.compile(r"=<(?:(?:dict|list) len=\d+|[\w.]+ object at 0x[0-9a-f]+)>")
#: How the fields of a model's response begin, and what one of them holds.
_FIELDS_BEGIN = re.compile(r"[a-z_]\w*=")
_OF_RESPONSES = ("candidates=[", "choices=[", "message=", "content=[")
#: The name of a field, as Pydantic prints the fields of an object, and how many such an object may have.
_FIELD = re.compile(r"(?:\A| )([A-Za-z_]\w*)=")
MOST_FIELDS = 50
#: What says who speaks a message.
_SAYS_WHO = frozenset(("role", "type"))
_START = re.compile(r"\s*(?:[A-Za-z_][\w.]*\(|[\[{(])")


def read_repr(text: str) -> object:
    """Return the value that the text spells, or Unreadable."""
    if len(text) > MAX_CHARS or not _START.match(text):
        return Unreadable("not a printed Python object")
    return read_literal(text)


def read_fields(text: str) -> object:
    """Return the object whose fields the text spells one after another, `content='…' name='…'`, or Unreadable."""
    marks = [*_FIELD.finditer(text)] if len(text) <= MAX_CHARS else []
    if not marks or marks[0].start() or len(marks) > MOST_FIELDS:
        return Unreadable("not the fields of a printed Python object")
    found: dict[str, object] = {}
    begin = 0
    while begin < len(marks):
        for end in range(begin + 1, len(marks) + 1):
            # What looks like the next field may stand inside of this one's text.
            stop = marks[end].start() if end < len(marks) else len(text)
            value = read_literal(text[marks[begin].end() : stop])
            if not isinstance(value, Unreadable):
                found[marks[begin][1]] = value
                begin = end
                break
        else:
            return Unreadable("not the fields of a printed Python object")
    return found


def tells_response(text: str) -> bool:
    """Tell whether a text looks like the fields of a model's response, as `str()` of one is."""
    return _FIELDS_BEGIN.match(text) is not None and any(mark in text for mark in _OF_RESPONSES)


def read_response(text: str) -> object:
    """Return the response whose fields a text spells, or Unreadable where they are not those of one."""
    if not tells_response(text):
        return Unreadable("not the fields of a response")
    said = read_fields(_FORMLESS.sub("=None", text))
    known = {"candidates", "choices", "message", "content"}
    return said if isinstance(said, dict) and said.keys() & known else Unreadable("not a response")


def read_literal(text: str) -> object:
    """Return the value that the text spells, whatever it is, or Unreadable."""
    try:
        return _value(ast.parse(_ENUM.sub(r"\1", text.strip()), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return Unreadable(f"not a printed Python object: {type(error).__name__}")


def _value(node: ast.expr) -> object:
    match node:
        case ast.Constant(value=value) if value is None or isinstance(value, str | int | float | bool):
            return value
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            return [_value(item) for item in items]
        case ast.Dict(keys=keys, values=values):
            return {_key(key): _value(value) for key, value in zip(keys, values, strict=True)}
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -number
        case ast.Call(func=function, args=arguments, keywords=keywords):
            found = {word.arg.lstrip("_"): _value(word.value) for word in keywords if word.arg}
            if keywords and not arguments and found.keys().isdisjoint(_SAYS_WHO):
                found = _named(found, function)
            return {**found, "args": [_value(item) for item in arguments]} if arguments else found
    raise ValueError("not a literal or a constructor")


def _named(found: dict[str, object], function: ast.expr) -> dict[str, object]:
    """Return a message that does not say who speaks with the name of its class, which does."""
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    is_message = name.removesuffix("Chunk").endswith("Message") and "content" in found
    return {"type": name.removesuffix("Chunk"), **found} if is_message else found


def _key(node: ast.expr | None) -> str:
    value = _value(node) if node is not None else None
    if not isinstance(value, str | int | float | bool):
        raise ValueError("a key that is not text")  # noqa: TRY004 (one error for whatever cannot be read)
    return str(value)
