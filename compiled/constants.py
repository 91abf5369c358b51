"""Constants of modules, told to the compiler as such: what can never be assigned again it does not look up each time.

The checkout stays as it is: in plain Python `Final` says nothing to who runs it, and a test may put another value there.
"""

from __future__ import annotations

import ast
import re

_NAME = re.compile(r"_{0,2}[A-Z][A-Z0-9_]+")
#: Calls that make types: no constants to the checker.
_TYPES = ("TypeVar", "NewType", "NamedTuple", "ParamSpec")
_NO_VALUES = ("TypeAlias", "Final")


def with_constants(source: str) -> str:
    """Return a module whose constants are `Final`: names in capitals that are assigned once, at its top.

    `Final` must be known in it. Several that are assigned in one row are assigned one by one.
    """
    module = ast.parse(source)
    assigned = [node.id for node in ast.walk(module) if isinstance(node, ast.Name) and _is_stored(node)]
    told = {name for node in ast.walk(module) if isinstance(node, ast.Global) for name in node.names}
    lines = source.splitlines(keepends=True)
    for node in reversed(module.body):  # a line that has become several moves none that is still to come
        found = _assigned(node)
        if not found or any(assigned.count(name) != 1 or name in told for name, _ in found):
            continue
        kind = "Final"
        if isinstance(node, ast.AnnAssign):
            kind = f"Final[{ast.unparse(node.annotation)}]"
        said = "; ".join(
            f"{name}: {kind} = ({ast.get_source_segment(source, value)})" for name, value in found
        )
        end = node.end_lineno or node.lineno
        rest = (
            lines[end - 1].encode()[node.end_col_offset :].decode()
        )  # what is said to the checker stands there
        lines[node.lineno - 1 : end] = [said + rest]
    return "".join(lines)


def _is_stored(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store | ast.Del)


def _assigned(node: ast.stmt) -> list[tuple[str, ast.expr]]:
    """Return the constants that a statement at the top of a module assigns, with their values; [] where it assigns others."""
    if isinstance(node, ast.AnnAssign):
        if node.value is None or ast.unparse(node.annotation).startswith(_NO_VALUES):
            return []
        pairs: list[tuple[ast.expr, ast.expr]] = [(node.target, node.value)]
    elif isinstance(node, ast.Assign) and len(node.targets) == 1:
        target, value = node.targets[0], node.value
        pairs = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            pairs = [*zip(target.elts, value.elts, strict=False)]
            if len(target.elts) != len(value.elts):
                return []
    else:
        return []
    found = [(target.id, value) for target, value in pairs if isinstance(target, ast.Name)]
    fits = len(found) == len(pairs) and all(
        _NAME.fullmatch(name) and _is_value(value) for name, value in found
    )
    return found if fits else []


def _is_value(value: ast.expr) -> bool:
    """Tell whether an expression is a value, and not a type or a part of a row."""
    made_by = value.func if isinstance(value, ast.Call) else None
    return not isinstance(value, ast.Starred) and not (isinstance(made_by, ast.Name) and made_by.id in _TYPES)
