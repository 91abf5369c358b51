"""R48: nothing that is read is ever run. No module of ours names what would run it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parent.parent
ROOTS = ("exporter", "ingest", "schemas", "queries")
#: Modules whose readers run or build what the data asks for. XML's expand entities without end.
MODULES = {
    "pickle", "_pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve", "yaml", "ruamel", "jsonpickle",
    "xml", "lxml", "code", "codeop", "runpy",
}  # fmt: skip
#: Between two processes of ours, over a pipe that nobody else has.
ALLOWED = {
    ("ingest/retrospan/ingest/interpret/service/worker.py", "pickle"),
    # Write bytes to be compared, and read none: `marshal.loads` is refused below.
    ("ingest/retrospan/ingest/interpret/messages/message_cache.py", "marshal"),
    ("exporter/retrospan/exporter/replay/wire/remembering.py", "marshal"),
    ("schemas/retrospan/schemas/bundle/canonical.py", "marshal"),
    ("schemas/retrospan/schemas/bundle/conversation.py", "marshal"),
    # Writes a report, and reads none.
    ("ingest/retrospan/ingest/cli/views/junit.py", "xml.etree"),
}
CALLS = {"eval", "exec", "compile", "__import__"}
KEYWORDS = {"allow_pickle", "shell"}


def offences(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.partition(".")[0] in MODULES)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in MODULES:
            yield str(node.module)
        elif isinstance(node, ast.Attribute) and node.attr in ("load", "loads"):
            if isinstance(node.value, ast.Name) and node.value.id == "marshal":
                yield f"marshal.{node.attr}()"
        elif isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id in CALLS:
                yield f"{node.func.id}()"
            if isinstance(node.func, ast.Attribute) and node.func.attr in (
                "read_pickle",
                "to_pickle",
                "system",
            ):
                yield f".{node.func.attr}()"
            yield from (
                f"{keyword.arg}="
                for keyword in node.keywords
                if keyword.arg in KEYWORDS
                and not (isinstance(keyword.value, ast.Constant) and keyword.value.value is False)
            )


@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.requirement("R48")
def test_no_module_runs_what_it_loads(root: str) -> None:
    files = sorted((TOP / root / "retrospan").rglob("*.py"))
    assert files
    for file in files:
        name = str(file.relative_to(TOP))
        found = {(name, offence) for offence in offences(ast.parse(file.read_text(encoding="utf-8")))}
        assert found <= ALLOWED, found - ALLOWED


@pytest.mark.parametrize(
    "program",
    [
        "import pickle", "from yaml import load", "import xml.etree.ElementTree", "eval(text)", "exec(text)",
        "numpy.load(file, allow_pickle=True)", "subprocess.run(text, shell=True)", "os.system(text)",
        "pandas.read_pickle(file)", "__import__(name)",
    ],
)  # fmt: skip
@pytest.mark.requirement("R48")
def test_the_rule_sees_each_of_them(program: str) -> None:
    assert len(list(offences(ast.parse(program)))) == 1
