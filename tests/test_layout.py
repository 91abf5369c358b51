"""The shape of the repository: who may import whom, what loads what, and who may touch the disk."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parent.parent
ROOTS = ("exporter", "ingest", "schemas", "queries")
ALLOWED = {
    "exporter": {"schemas"},
    "queries": {"schemas"},
    "schemas": set[str](),
    "ingest": {"schemas", "queries"},
}
HEAVY = {
    "chdb",
    "clickhouse_connect",
    "google",
    "grpc",
    "h11",
    "isal",
    "numpy",
    "opentelemetry",
    "pandas",
    "polars",
    "pyarrow",
    "uvicorn",
}


def modules(root: str) -> list[Path]:
    return sorted((TOP / root / "retrospan").rglob("*.py"))


def imported(tree: ast.AST) -> Iterator[str]:
    """Every module a file names in an import, at any depth."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield node.module or ""
            if node.module == "retrospan":
                yield from (f"retrospan.{alias.name}" for alias in node.names)


def loaded_by(statement: str, watched: set[str]) -> set[str]:
    """The watched top-level packages that a fresh interpreter has loaded after the statement."""
    code = (
        f"{statement}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}} & {watched!r})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("root", ROOTS)
def test_imports_run_along_the_arrows_only(root: str) -> None:
    files = modules(root)
    assert files
    for file in files:
        for name in imported(ast.parse(file.read_text(encoding="utf-8"))):
            parts = name.split(".")
            if parts[0] == "retrospan" and len(parts) > 1:
                assert parts[1] == root or parts[1] in ALLOWED[root], (
                    f"{file.relative_to(TOP)} imports {name}"
                )


def test_retrospan_stays_a_namespace_over_four_roots() -> None:
    for root in ROOTS:
        inside = {entry.name for entry in (TOP / root / "retrospan").iterdir() if entry.name != "__pycache__"}
        assert inside == {root}, f"{root}/retrospan holds {inside}"
    code = "import retrospan, sys; print(getattr(retrospan, '__file__', None))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "None"


def test_the_exporter_is_light() -> None:
    assert loaded_by("import retrospan.exporter", HEAVY - {"opentelemetry", "google"}) == set()


@pytest.mark.parametrize(
    "module",
    ["retrospan.ingest.cli.main", "retrospan.ingest.config", "retrospan.queries", "retrospan.schemas.errors"],
)
def test_what_a_command_loads_at_its_start_is_light(module: str) -> None:
    assert loaded_by(f"import {module}", HEAVY) == set()


def test_only_one_module_makes_files_durable() -> None:
    owner = TOP / "ingest/retrospan/ingest/log/files.py"
    callers: set[Path] = set()
    for root in ROOTS:
        for file in modules(root):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                named = (
                    isinstance(node, ast.Attribute) and node.attr in ("fsync", "fdatasync", "sync_file_range")
                ) or (isinstance(node, ast.alias) and node.name in ("fsync", "fdatasync"))
                if named:
                    callers.add(file)
    assert callers == {owner}


def test_every_package_has_its_types() -> None:
    for root in ROOTS:
        assert (TOP / root / "retrospan" / root / "py.typed").exists()
