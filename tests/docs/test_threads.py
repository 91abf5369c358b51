"""The page that names the threads of the collector names those that the code starts, and no others."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
INGEST = TOP / "ingest/retrospan/ingest"
#: They have no place in a collector.
OTHERS = {"torture", "demo", "cli"}
#: What starts threads, and where it is told their name: a keyword, or the place of an argument.
STARTS: dict[str, str | int] = {
    "Thread": "name",
    "HttpServer": "name",
    "ThreadPoolExecutor": "thread_name_prefix",
    "FairExecutor": 1,
}


def text(node: ast.expr | None) -> str:
    """A name as it is written; of one that is put together, the part that is always the same and a dot for the rest."""
    if isinstance(node, ast.JoinedStr):
        return f"{text(node.values[0])}…"
    return str(node.value) if isinstance(node, ast.Constant) else ""


def given(call: ast.Call, place: str | int) -> str:
    if isinstance(place, int):
        return text(call.args[place]) if len(call.args) > place else ""
    return next((text(keyword.value) for keyword in call.keywords if keyword.arg == place), "")


def named_in(tree: ast.Module) -> Iterator[str]:
    """The names of threads in one module; '' for one that has none."""
    pools = {
        node.name: base.id
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for base in node.bases
        if isinstance(base, ast.Name) and base.id in STARTS
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == "thread_name" for target in node.targets
        ):
            yield text(node.value)
        elif isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in STARTS:
                yield given(node, STARTS[called])
            elif called == "__init__" and pools and len(node.args) > 1:
                yield text(node.args[1])


def started() -> dict[str, set[str]]:
    """By the name of a thread, the modules that start one."""
    found: dict[str, set[str]] = {}
    for file in sorted(INGEST.rglob("*.py")):
        place = file.relative_to(INGEST)
        # These take the name from whoever makes them, or from the class.
        if place.parts[0] in OTHERS or place.as_posix() in (
            "service.py",
            "access/fair_executor.py",
            "http/server.py",
        ):
            continue
        for name in named_in(ast.parse(file.read_text(encoding="utf-8"))):
            found.setdefault(name, set()).add(place.as_posix())
    return found


def test_the_page_names_the_threads_that_are_started() -> None:
    page = (TOP / "ARCHITECTURE.md").read_text(encoding="utf-8")
    section = page.split("## Processes, threads, locks")[1].split("\n## ")[0]
    table = section.split("| thread |")[1].split("\n\n")[0]
    told = {name for row in table.split("\n")[2:] for name in re.findall(r"`([a-z…-]+)`", row.split("|")[1])}
    code = started()
    assert "" not in code, f"threads without a name in {code['']}"
    assert told == set(code), {name: code.get(name, "no module") for name in told ^ set(code)}
    assert len(told) > 20
