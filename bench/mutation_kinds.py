"""Mutations of Python functions: small changes of one node each, as somebody may make by mistake."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass

_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
#: The function that statements call which are reached.
MARK = "__reached__"
_OTHER_CALL = {"min": "max", "max": "min", "any": "all", "all": "any", "sorted": "list", "reversed": "list"}
_LEAVES = (ast.Return, ast.Continue, ast.Break, ast.Raise)


@dataclass(frozen=True, slots=True)
class Mutation:
    """One change of one node. `node` and `choice` find it again in the same source."""

    kind: str
    function: str
    line: int
    before: str
    after: str
    node: int
    choice: int


def mutations_of(source: str) -> list[Mutation]:
    """Return every mutation of the functions of a module, in the order of its nodes."""
    tree = ast.parse(source)
    inside = {id(node): name for name, function in _functions(tree) for node in _rules(function)}
    return [
        Mutation(
            kind,
            inside[id(node)],
            getattr(node, "lineno", 0),
            ast.unparse(node),
            ast.unparse(other),
            number,
            choice,
        )
        for number, node in enumerate(ast.walk(tree))
        if id(node) in inside
        for choice, (kind, other) in enumerate(_choices(node))
    ]


def mutated(source: str, mutation: Mutation) -> ast.Module:
    """Return the module with the mutation in it."""
    tree = ast.parse(source)
    node = list(ast.walk(tree))[mutation.node]
    _replace(tree, node, _choices(node)[mutation.choice][1])
    return ast.fix_missing_locations(tree)


def marked(source: str, mutations: dict[int, Mutation]) -> ast.Module:
    """Return the module with a call of `MARK(number)` before the statement of each mutation."""
    tree = ast.parse(source)
    nodes = list(ast.walk(tree))
    parents = {id(child): node for node in nodes for child in ast.iter_child_nodes(node)}
    for number, mutation in mutations.items():
        node = nodes[mutation.node]
        while not isinstance(node, ast.stmt):
            node = parents[id(node)]
        mark = ast.parse(f"{MARK}({number})").body[0]
        for node_of_mark in ast.walk(mark):
            ast.copy_location(node_of_mark, node)
        for _, block in ast.iter_fields(parents[id(node)]):
            if isinstance(block, list) and any(entry is node for entry in block):
                block.insert(next(place for place, entry in enumerate(block) if entry is node), mark)
    return ast.fix_missing_locations(tree)


def _functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield functions and methods by their qualified names; what is defined inside of one is a part of it."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from (
                (f"{node.name}.{own.name}", own) for own in node.body if isinstance(own, ast.FunctionDef)
            )


def _rules(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """Yield the nodes of the body that decide something: neither annotations nor prose."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.JoinedStr) or (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        ):
            continue
        yield node
        waiting += [
            child
            for name, value in ast.iter_fields(node)
            if name not in ("annotation", "returns")
            for child in (value if isinstance(value, list) else [value])
            # zip's `strict` is an assertion.
            if isinstance(child, ast.AST) and not (isinstance(child, ast.keyword) and child.arg == "strict")
        ]


def _choices(node: ast.AST) -> list[tuple[str, ast.AST]]:
    """Return what may stand in the node's place, each with the kind of the change."""
    match node:
        case ast.Compare(ops=[operator]):
            found = [("comparison", _with(node, ops=[other()])) for other in _COMPARISONS[type(operator)]]
            return [*found, ("decided", ast.Constant(True)), ("decided", ast.Constant(False))]
        case ast.BoolOp(op=operator, values=values):
            swapped = ast.Or() if isinstance(operator, ast.And) else ast.And()
            left = [_with(node, values=[v for v in values if v is not gone]) for gone in values]
            if len(values) == 2:
                left = [values[1], values[0]]
            return [("and/or", _with(node, op=swapped)), *(("operand", each) for each in left)]
        case ast.UnaryOp(op=ast.Not()):
            return [("not", node.operand)]
        case ast.Constant(value=bool() as value):
            return [("constant", ast.Constant(not value))]
        case ast.Constant(value=int() as value):
            return [("constant", ast.Constant(value + 1)), ("constant", ast.Constant(value - 1))]
        case ast.Constant(value=str() as value) if value:
            return [("text", ast.Constant(value + "?"))]
        case ast.BinOp(op=ast.Add() | ast.Sub() as operator) if not _is_text(node):
            other = ast.Sub() if isinstance(operator, ast.Add) else ast.Add()
            return [("arithmetic", _with(node, op=other))]
        case ast.Subscript(slice=ast.Constant(value=0)):
            return [("end", _with(node, slice=ast.UnaryOp(ast.USub(), ast.Constant(1))))]
        case ast.Subscript(slice=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1))):
            return [("end", _with(node, slice=ast.Constant(0)))]
        case ast.Call(func=ast.Name(id=name)) if name in _OTHER_CALL:
            return [("call", ast.Call(ast.Name(_OTHER_CALL[name], ast.Load()), node.args, []))]
        case ast.If(body=[*_, last], orelse=[]) if isinstance(last, _LEAVES):
            return [("early return", ast.Pass())]
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Continue():
            return [("statement", ast.Pass())]
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            return [("statement", ast.Pass())]
        case ast.IfExp():
            return [("decided", node.body), ("decided", node.orelse)]
    return []


def _is_text(node: ast.AST) -> bool:
    return any(isinstance(inner, ast.Constant) and isinstance(inner.value, str) for inner in ast.walk(node))


def _with(node: ast.AST, **fields: object) -> ast.AST:
    other = copy.copy(node)
    for name, value in fields.items():
        setattr(other, name, value)
    return other


def _replace(tree: ast.AST, node: ast.AST, other: ast.AST) -> None:
    """Put another node in a node's place, on the same line."""
    ast.copy_location(other, node)
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if value is node:
                setattr(parent, name, other)
            elif isinstance(value, list):
                value[:] = [other if entry is node else entry for entry in value]
