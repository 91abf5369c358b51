"""What a module imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def imports_in(tree: ast.Module) -> Iterator[ast.Import | ast.ImportFrom]:
    """Return every import, at any depth, without a look into expressions: those hold none and are most of a tree."""
    rest: list[ast.AST] = [tree]
    while rest:
        node = rest.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif not isinstance(node, ast.expr):
            rest.extend(ast.iter_child_nodes(node))
