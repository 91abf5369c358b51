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
_START = re.compile(r"\s*(?:[A-Za-z_][\w.]*\(|[\[{(])")


def read_repr(text: str) -> object:
    """Return the value that the text spells, or Unreadable."""
    if len(text) > MAX_CHARS or not _START.match(text):
        return Unreadable("not a printed Python object")
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
        case ast.Call(args=arguments, keywords=keywords):
            found = {word.arg.lstrip("_"): _value(word.value) for word in keywords if word.arg}
            return {**found, "args": [_value(item) for item in arguments]} if arguments else found
    raise ValueError("not a literal or a constructor")


def _key(node: ast.expr | None) -> str:
    value = _value(node) if node is not None else None
    if not isinstance(value, str | int | float | bool):
        raise ValueError("a key that is not text")  # noqa: TRY004 (one error for whatever cannot be read)
    return str(value)
