"""Every dependency is used, and every one that is used is declared, where it is used."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

from source_imports import imports_in

TOP = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))
OURS = {
    "retrospan",
    "bench",
    *(place.stem for folder in ("tests", "examples/stuck") for place in (TOP / folder).iterdir()),
}
#: Whose modules lie in packages that several distributions share.
SHARED = {
    "google.protobuf": "protobuf",
    "google.rpc": "googleapis-common-protos",
    "langgraph.checkpoint": "langgraph-checkpoint",
    "langgraph": "langgraph",
    "opentelemetry.exporter.otlp.proto.common": "opentelemetry-exporter-otlp",
    "opentelemetry.exporter.otlp.proto.grpc": "opentelemetry-exporter-otlp",
    "opentelemetry.exporter.otlp.proto.http": "opentelemetry-exporter-otlp-proto-http",
    "opentelemetry.proto": "opentelemetry-proto",
    "opentelemetry.sdk": "opentelemetry-sdk",
    "opentelemetry": "opentelemetry-api",
}
#: What the agent has already when its hook is asked for.
HOOKED = {
    "langchain-core",
    "langgraph",
    "langgraph-checkpoint",
    "mcp",
    "openai-agents",
    "ormsgpack",
    "pydantic-ai-slim",
    "pytest",
}
#: What the agent has whose thread is restored.
RESTORED = {"langgraph-checkpoint", "ormsgpack"}
#: Used without an import of ours: what for.
WITHOUT_IMPORT = {
    "pyarrow": "polars makes pandas' frames with it",
    "mypy": "make check",
    "pyright": "make check",
    "ruff": "make check",
    "pytest-xdist": "pytest -n",
    "gevent": "programs that tests write",
    "opentelemetry-distro": "opentelemetry-instrument, which tests start",
    "rotel": "a program that tests start",
    "retrospan": "itself, with another extra",
    "retrospan-torture": "the command torture",
}

#: Each is run in an environment of its own, with the framework that it drives or the client that it is.
DRIVERS = {
    *(TOP / "tests/recordings/record/drivers").iterdir(),
    *(TOP / "tests/clients/programs/python").iterdir(),
    TOP / "bench/survival_framework_agent.py",
}

PACKAGES = packages_distributions()


def named(requirements: list[str]) -> set[str]:
    """The names of distributions in a list of requirements."""
    found = [re.match(r"[A-Za-z0-9._-]+", requirement) for requirement in requirements]
    return {re.sub(r"[._]", "-", match[0].lower()) for match in found if match}


BASE = named(PROJECT["project"]["dependencies"])
EXTRAS = {extra: named(each) for extra, each in PROJECT["project"]["optional-dependencies"].items()}
DEV = named(PROJECT["dependency-groups"]["dev"])


def imports(*folders: str) -> set[str]:
    """The distributions whose modules are imported below the folders."""
    return {
        distribution
        for folder in folders
        for file in sorted((TOP / folder).rglob("*.py"))
        if file not in DRIVERS
        for module in modules(file)
        if (distribution := distribution_of(module))
    }


@cache
def modules(file: Path) -> tuple[str, ...]:
    """What a module imports, each name with its module."""
    return tuple(
        alias.name if isinstance(node, ast.Import) else f"{node.module}.{alias.name}"
        for node in imports_in(ast.parse(file.read_text(encoding="utf-8")))
        for alias in node.names
        if isinstance(node, ast.Import) or node.module
    )


@cache
def distribution_of(module: str) -> str | None:
    """Whose module it is; None for Python's and our own."""
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names or top in OURS or top in ("_typeshed", "compression"):
        return None
    for prefix, name in sorted(SHARED.items(), reverse=True):
        if f"{module}.".startswith(f"{prefix}."):
            return name
    (name,) = set(PACKAGES.get(top, [f"unknown: {module}"]))
    return re.sub(r"[._]", "-", name.lower())


def test_the_exporter_needs_the_base_and_for_grpc_its_extra() -> None:
    used = imports("exporter", "schemas") - HOOKED
    assert used - EXTRAS["grpc"] == BASE
    assert EXTRAS["grpc"] <= used


def test_the_collector_needs_what_its_extras_declare() -> None:
    used = imports("ingest", "queries") - BASE - RESTORED
    assert not imports("ingest") & RESTORED
    of_assistants = EXTRAS["mcp"] - EXTRAS["server"]
    others = EXTRAS["embedded"] | EXTRAS["frames"] | of_assistants
    assert used - others == EXTRAS["server"] - WITHOUT_IMPORT.keys()
    assert EXTRAS["embedded"] - WITHOUT_IMPORT.keys() <= used
    assert EXTRAS["mcp"] <= imports("ingest/retrospan/ingest/mcp")
    users = [
        file
        for file in (TOP / "ingest").rglob("*.py")
        if of_assistants & {*map(distribution_of, modules(file))}
    ]
    assert {file.parent.name for file in users} == {"mcp"}


def test_only_the_python_interface_needs_what_frames_declare() -> None:
    assert not imports("ingest", "exporter", "schemas", "torture") & EXTRAS["frames"]
    assert EXTRAS["frames"] - WITHOUT_IMPORT.keys() <= imports("queries")


def test_torture_needs_what_it_declares() -> None:
    assert imports("torture") <= BASE | EXTRAS["server"] | EXTRAS["embedded"]


def test_the_tests_need_what_is_declared_and_use_it() -> None:
    used = imports("tests", "bench", "examples")
    assert used <= BASE | set().union(*EXTRAS.values()) | DEV
    stubs = {name for name in DEV if name.startswith("types-") or name.endswith("-stubs")}
    assert DEV - stubs - used <= WITHOUT_IMPORT.keys()


def test_each_exception_is_declared_somewhere() -> None:
    assert WITHOUT_IMPORT.keys() <= BASE | DEV | set().union(*EXTRAS.values())
