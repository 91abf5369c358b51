"""The shape of the repository: who may import whom, what loads what, and who may touch the disk."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from source_imports import imports_in

TOP = Path(__file__).resolve().parent.parent
INGEST = TOP / "ingest/retrospan/ingest"
ROOTS = ("exporter", "ingest", "schemas", "queries", "torture")
ALLOWED = {
    "exporter": {"schemas"},
    "queries": {"schemas"},
    "schemas": set[str](),
    "ingest": {"schemas", "queries"},
    # A distribution of its own, which nothing imports.
    "torture": {"ingest", "queries", "schemas"},
}
#: Of the collector's side, only these commands know the agent's. `spool` does what the exporter would have done had the agent
#: not died. How a spool's files are locked, read, told from damaged ones and sent has to be the same at both, so it is
#: the exporter's own code, and not a second copy in `schemas`, which would bring HTTP and OpenTelemetry there.
#: The commands that replay run an agent with what the exporter does in its process, and read its report.
EXPORTING = {
    "cli/commands/bisect.py",
    "cli/commands/fork.py",
    "cli/commands/golden.py",
    "cli/commands/replay.py",
    "cli/commands/spool.py",
}
#: Folders that know no other, and modules beside the folders that know none: any folder may import them.
BASE = {"machine": {"settings"}, "settings": set[str]()}
LEAVES = {
    "channel",
    "compiled",
    "empty_result",
    "json_text",
    "logs",
    "row_values",
    "service",
    "sql_files",
    "visible_text",
}
#: The other modules beside the folders put these together. Only what starts a whole collector imports them.
COMPOSERS = {
    "cli/commands": {"server"},
    "demo": {"collector"},
}
#: Which folder of `retrospan.ingest` imports which. A new arrow is a decision, and stands here first; none leads back.
FOLDERS = {
    "access": set[str](),
    "alerts": {"alerts/sql", "answer", "answer/guard", "http", "status", "warehouse"},
    "alerts/sql": set[str](),
    "answer": {
        "access",
        "answer/computed",
        "answer/encodings",
        "answer/guard",
        "answer/rewriting",
        "http",
        "status",
        "warehouse",
    },
    "answer/computed": {"answer/computed/sql"},
    "answer/computed/sql": set[str](),
    "answer/encodings": {"http", "receive"},
    "answer/guard": {"warehouse"},
    "answer/jaeger": {"access", "answer", "answer/jaeger/sql", "http", "load"},
    "answer/jaeger/sql": set[str](),
    "answer/rewriting": {"answer/guard"},
    "bundle": {"answer/guard", "warehouse"},
    "cli": {"cli/terminal"},
    "cli/client": {"cli/terminal"},
    "cli/commands": {
        "bundle",
        "cli",
        "cli/client",
        "cli/terminal",
        "cli/views",
        "doctor",
        "load",
        "log",
        "otlp",
        "rules",
        "warehouse",
        "why",
        "why/sides",
    },
    "cli/terminal": set[str](),
    "cli/views": {
        "bundle",
        "cli/client",
        "cli/terminal",
        "doctor",
        "interpret/dialects",
        "interpret/messages",
        "why",
        "why/sides",
    },
    "demo": {"cli", "cli/client", "cli/terminal"},
    "doctor": {"access", "alerts", "load", "log", "status", "warehouse"},
    "http": {"access"},
    "interpret": {
        "interpret/calls",
        "interpret/dialects",
        "interpret/duplicates",
        "interpret/grouping",
        "interpret/invariants",
        "interpret/lineage",
        "interpret/messages",
        "interpret/normalize",
        "interpret/outcome",
        "interpret/pairing",
        "interpret/prompts",
        "interpret/spans",
        "interpret/sql",
        "interpret/stated",
        "interpret/steps",
        "interpret/tree",
        "interpret/unfolding",
        "rules",
    },
    "interpret/calls": {
        "interpret/messages",
        "interpret/normalize",
        "interpret/tree",
    },
    "interpret/dialects": {
        "interpret/messages",
        "interpret/normalize",
        "interpret/spans",
    },
    "interpret/duplicates": {
        "interpret/messages",
        "interpret/normalize",
        "interpret/spans",
        "interpret/tree",
    },
    "interpret/findings": {"rules"},
    "interpret/grouping": {
        "interpret/calls",
        "interpret/messages",
        "interpret/normalize",
        "interpret/prompts",
        "interpret/spans",
        "interpret/tree",
        "interpret/unfolding",
    },
    "interpret/invariants": {
        "interpret/calls",
        "interpret/messages",
        "interpret/normalize",
        "interpret/prompts",
        "interpret/spans",
        "interpret/steps",
        "interpret/tree",
        "interpret/unfolding",
    },
    "interpret/lineage": {
        "interpret/calls",
        "interpret/messages",
        "interpret/normalize",
        "interpret/spans",
        "interpret/steps",
        "interpret/tree",
    },
    "interpret/messages": {"interpret/spans"},
    "interpret/normalize": {"interpret/messages", "interpret/spans"},
    "interpret/outcome": {
        "interpret/calls",
        "interpret/grouping",
        "interpret/invariants",
        "interpret/messages",
        "interpret/normalize",
        "interpret/prompts",
        "interpret/spans",
        "interpret/steps",
        "interpret/tree",
        "interpret/unfolding",
    },
    "interpret/pairing": {
        "interpret/calls",
        "interpret/duplicates",
        "interpret/messages",
        "interpret/normalize",
        "interpret/prompts",
        "interpret/spans",
        "interpret/tree",
        "interpret/unfolding",
    },
    "interpret/prompts": {
        "interpret/calls",
        "interpret/messages",
        "interpret/normalize",
        "interpret/spans",
        "interpret/tree",
        "interpret/unfolding",
    },
    "interpret/rows": {
        "interpret",
        "interpret/calls",
        "interpret/dialects",
        "interpret/findings",
        "interpret/invariants",
        "interpret/lineage",
        "interpret/normalize",
        "interpret/outcome",
        "interpret/spans",
        "interpret/stated",
        "interpret/steps",
        "prices",
        "rules",
    },
    "interpret/service": {
        "interpret",
        "interpret/dialects",
        "interpret/grouping",
        "interpret/normalize",
        "interpret/rows",
        "interpret/spans",
        "interpret/sql",
        "load",
        "prices",
        "rules",
        "warehouse",
    },
    "interpret/spans": {"load"},
    "interpret/sql": set[str](),
    "interpret/stated": {
        "interpret/calls",
        "interpret/lineage",
        "interpret/normalize",
        "interpret/spans",
        "interpret/steps",
        "interpret/tree",
        "rules",
    },
    "interpret/steps": {
        "interpret/calls",
        "interpret/messages",
        "interpret/normalize",
        "interpret/spans",
        "interpret/tree",
    },
    "interpret/tree": {
        "interpret/messages",
        "interpret/normalize",
        "interpret/spans",
    },
    "interpret/unfolding": {
        "interpret/messages",
        "interpret/normalize",
        "interpret/spans",
        "interpret/tree",
    },
    "load": {"load/sql", "log", "otlp", "warehouse"},
    "load/sql": set[str](),
    "log": set[str](),
    "mcp": {"cli", "cli/terminal"},
    "otlp": set[str](),
    "receive": {"access", "http", "log", "otlp", "redact"},
    "redact": {"otlp"},
    "retention": {"retention/deletion", "retention/policy"},
    "retention/deletion": {
        "interpret/dialects",
        "interpret/rows",
        "load",
        "log",
        "otlp",
        "retention/policy",
        "retention/receipts",
        "retention/sql",
        "warehouse",
    },
    "retention/policy": {"retention/sql"},
    "retention/receipts": {
        "interpret/rows",
        "load",
        "log",
        "retention/policy",
        "retention/sql",
        "warehouse",
    },
    "retention/sql": set[str](),
    "prices": set[str](),
    "rules": {"prices"},
    "status": {"access", "http", "interpret/service", "load", "log", "receive", "warehouse"},
    "verify": {
        "answer/guard",
        "interpret",
        "interpret/rows",
        "interpret/service",
        "load",
        "log",
        "retention/deletion",
        "retention/sql",
        "rules",
        "verify/sql",
        "warehouse",
    },
    "verify/sql": set[str](),
    "warehouse": set[str](),
    "why": set[str](),
    "why/sides": {"why"},
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


@cache
def tree_of(file: Path) -> ast.Module:
    """What a module says: most of the tests go through all of them."""
    return ast.parse(file.read_text(encoding="utf-8"))


@pytest.fixture(scope="module", autouse=True)
def trees() -> Iterator[None]:
    """Give back what the trees take: a hundred megabytes."""
    yield
    tree_of.cache_clear()


def imported(file: Path) -> Iterator[str]:
    """Every module a file names in an import, at any depth."""
    for node in imports_in(tree_of(file)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        else:
            assert node.level == 0, "imports are absolute"
            yield node.module or ""
            if node.module == "retrospan":
                yield from (f"retrospan.{alias.name}" for alias in node.names)


def _exports(file: Path) -> bool:
    return file.is_relative_to(INGEST) and str(file.relative_to(INGEST)) in EXPORTING


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
        for name in imported(file):
            parts = name.split(".")
            if parts[0] == "retrospan" and len(parts) > 1:
                allowed = ALLOWED[root] | ({"exporter"} if _exports(file) else set())
                assert parts[1] == root or parts[1] in allowed, f"{file.relative_to(TOP)} imports {name}"


def test_the_exporter_is_used_by_these_commands_only() -> None:
    users = {
        str(file.relative_to(INGEST))
        for file in modules("ingest")
        if any(name.startswith("retrospan.exporter") for name in imported(file))
    }
    assert users == EXPORTING


def test_retrospan_stays_a_namespace_over_its_roots() -> None:
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
    [
        "retrospan.ingest.cli.main",
        "retrospan.ingest.settings.config",
        "retrospan.queries",
        "retrospan.schemas.errors",
    ],
)
def test_what_a_command_loads_at_its_start_is_light(module: str) -> None:
    assert loaded_by(f"import {module}", HEAVY) == set()


def test_only_one_module_makes_files_durable() -> None:
    system = TOP / "ingest/retrospan/ingest/machine/operating_system.py"
    owner = TOP / "ingest/retrospan/ingest/machine/durable_files.py"
    callers: set[Path] = set()
    importers: set[Path] = set()
    for root in ROOTS:
        for file in modules(root):
            for node in ast.walk(tree_of(file)):
                named = (
                    isinstance(node, ast.Attribute) and node.attr in ("fsync", "fdatasync", "sync_file_range")
                ) or (isinstance(node, ast.alias) and node.name in ("fsync", "fdatasync"))
                if named:
                    callers.add(file)
                if isinstance(node, ast.alias) and node.name in ("sync", "sync_names"):
                    importers.add(file)
    assert (callers, importers) == ({system}, {owner})


def test_every_package_has_its_types() -> None:
    for root in ROOTS:
        assert (TOP / root / "retrospan" / root / "py.typed").exists()


def room_of(module: str) -> str:
    """The folder of a module of `retrospan.ingest`; a module beside the folders is a room of its own."""
    path = INGEST.joinpath(*module.split("."))
    if (path / "__init__.py").exists():
        return module.replace(".", "/")
    return "/".join(module.split(".")[:-1]) or module


@cache
def arrows() -> dict[str, set[str]]:
    """Which room of `retrospan.ingest` imports which others."""
    found: dict[str, set[str]] = {}
    for file in sorted(INGEST.rglob("*.py")):
        folder = file.relative_to(INGEST).parent
        room = "/".join(folder.parts) or file.stem
        reached = found.setdefault(room, set())
        for node in imports_in(tree_of(file)):
            if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("retrospan.ingest"):
                continue
            for alias in node.names:
                named = f"{node.module}.{alias.name}".removeprefix("retrospan.ingest.")
                is_module = INGEST.joinpath(*named.split(".")).with_suffix(".py").exists()
                module = named if is_module else named.rpartition(".")[0]
                if module and room_of(module) != room:
                    reached.add(room_of(module))
    return found


def test_folders_import_what_the_table_says() -> None:
    found = arrows()
    folders = {room: reached for room, reached in found.items() if (INGEST / room).is_dir()}
    among = {room: reached & folders.keys() for room, reached in folders.items()}
    assert {room: among.pop(room) for room in BASE} == BASE
    assert {room: reached - BASE.keys() for room, reached in among.items()} == FOLDERS
    beside = {room: reached - folders.keys() - LEAVES for room, reached in folders.items()}
    assert {room: reached for room, reached in beside.items() if reached} == COMPOSERS
    for leaf in LEAVES:
        assert found[leaf] <= LEAVES | BASE.keys(), f"{leaf} is not a leaf"


def test_no_arrow_between_rooms_leads_back() -> None:
    rest = dict(arrows())
    while ends := {room for room, reached in rest.items() if not reached & rest.keys()}:
        rest = {room: reached for room, reached in rest.items() if room not in ends}
    assert not rest, f"these import each other, whatever the way: {sorted(rest)}"


@pytest.mark.parametrize("root", ROOTS)
def test_a_constant_is_documented_by_hash_colon_above_it(root: str) -> None:
    for file in modules(root):
        lines = file.read_text(encoding="utf-8").splitlines()
        body = tree_of(file).body
        for node, follows in zip(body, [*body[1:], None], strict=False):
            if not isinstance(node, ast.Assign | ast.AnnAssign):
                continue
            place = f"{file.relative_to(TOP)}:{node.lineno}"
            above = lines[node.lineno - 2]
            assert not above.startswith("# ") or above.startswith(("# fmt", "# noqa")), f"{place}: not #:"
            text = isinstance(follows, ast.Expr) and isinstance(follows.value, ast.Constant)
            assert not text, f"{place}: documented below it"
