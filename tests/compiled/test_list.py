"""The list of what is compiled names everything that the interpreting process loads, once, and nothing else."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from compiled.modules import COMPILED, LEFT_OUT, files_in, is_named

TOP = Path(__file__).resolve().parents[2]
ROOTS = ("ingest", "schemas")


@pytest.fixture(scope="module")
def loaded() -> list[str]:
    """The modules of ours that the interpreting process has loaded before its first job."""
    code = "import retrospan.ingest.interpret.service.jobs, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return [name for name in done.stdout.split() if name.startswith("retrospan.")]


def _is_package(name: str) -> bool:
    return any((TOP / root / name.replace(".", "/") / "__init__.py").exists() for root in ROOTS)


def test_each_module_that_reads_runs_is_in_one_of_the_two_lists(loaded: list[str]) -> None:
    for name in loaded:
        if not _is_package(name):
            assert is_named(name, COMPILED) != is_named(name, LEFT_OUT), name


@pytest.mark.parametrize("named", [*COMPILED, *LEFT_OUT])
def test_each_name_is_that_of_something_that_is_loaded(named: str, loaded: list[str]) -> None:
    assert any(is_named(name, (named,)) for name in loaded)


def test_files_of_the_list_are_found() -> None:
    found = {str(file) for root in ROOTS for file in files_in(TOP / root)}
    assert {"retrospan/ingest/interpret/run.py", "retrospan/schemas/hashing.py"} <= found
    assert not any("service" in file or file.endswith("__init__.py") for file in found)


def test_nothing_that_is_compiled_is_a_cached_property() -> None:
    """mypyc makes a plain property of one, which is computed each time: a run of nested spans then takes the square."""
    for root in ROOTS:
        for file in files_in(TOP / root):
            assert "cached_property" not in (TOP / root / file).read_text(encoding="utf-8"), file


def test_no_alias_of_what_is_compiled_names_itself() -> None:
    """mypyc follows such an alias for ever, until the stack is full: the build ends by SIGSEGV."""
    for root in ROOTS:
        for file in files_in(TOP / root):
            for node in ast.parse((TOP / root / file).read_bytes()).body:
                if isinstance(node, ast.AnnAssign) and "TypeAlias" in ast.unparse(node.annotation):
                    named = ast.unparse(node.target)
                    said = ast.literal_eval(node.value) if isinstance(node.value, ast.Constant) else ""
                    assert not re.search(rf"\b{named}\b", said), f"{file}: {named}"


def test_nothing_that_is_compiled_looks_for_a_value_in_a_row_that_is_put_together_there() -> None:
    """`kind in (*CALLS, *RESULTS)` is a fault of mypyc's own: it builds nothing then."""
    for root in ROOTS:
        for file in files_in(TOP / root):
            for node in ast.walk(ast.parse((TOP / root / file).read_bytes())):
                rows = node.comparators if isinstance(node, ast.Compare) else ()
                parts = [part for row in rows for part in getattr(row, "elts", ())]
                assert not any(isinstance(part, ast.Starred) for part in parts), f"{file}:{ast.unparse(node)}"


def test_nothing_that_is_compiled_looks_for_a_value_in_a_generator() -> None:
    """`x in walk()` fails at run time: what mypyc makes of a generator can be gone through, and not asked."""
    trees = {
        file: ast.parse((TOP / root / file).read_bytes()) for root in ROOTS for file in files_in(TOP / root)
    }
    makers = {
        node.name
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and _yields(node)
    }
    assert "ancestors" in makers
    for file, tree in trees.items():
        for node in ast.walk(tree):
            asked = (
                node.comparators
                if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn)
                else ()
            )
            for each in asked:
                called = each.func if isinstance(each, ast.Call) else None
                name = getattr(called, "attr", getattr(called, "id", ""))
                assert name not in makers, f"{file}: {ast.unparse(node)}"


def _yields(function: ast.FunctionDef) -> bool:
    return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in ast.walk(function))
