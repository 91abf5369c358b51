"""Names of views, columns, attributes and dialects on the pages are those of the code."""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest
from docs.dialect_pages import places
from docs.pages import PAGES, TOP, Page
from fix_recordings import manifest

from retrospan.ingest.interpret.dialects import DIALECTS
from retrospan.schemas import attributes, semconv
from retrospan.schemas.attributes import REDACTED, SCOPE_NAME

VIEWS = TOP / "queries/retrospan/queries/views"
MIGRATIONS = TOP / "schemas/retrospan/schemas/migrations"
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


@cache
def columns() -> dict[str, set[str]]:
    """The columns of each view, by the header of its file."""
    return {
        file.stem: set(re.findall(r"^--   (\w+) [A-Z]", file.read_text(encoding="utf-8"), re.MULTILINE))
        for file in VIEWS.glob("*.sql")
    }


#: What the modules of names are called where they are imported whole.
_MODULES = {"conventions": attributes, "semconv": semconv}


@cache
def words_of_interpretation() -> list[str]:
    """Every text in the code that interprets; docstrings apart, and what the dialects say for their pages."""
    found: list[str] = []
    folder = TOP / "ingest/retrospan/ingest/interpret"
    for file in folder.rglob("*.py"):
        if "dialects" in file.parts and file.name != "vocabulary.py":
            continue
        tree = ast.parse(file.read_text(encoding="utf-8"))
        said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        found += [
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said
        ]
        found += [
            getattr(attributes, name.name)
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module == "retrospan.schemas.attributes"
            for name in node.names
        ]
        found += [
            getattr(_MODULES[node.value.id], node.attr)
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id in _MODULES
        ]
    return found


def page(name: str) -> Page:
    return next(page for page in PAGES if page.name == name)


def rows(text: str) -> list[list[str]]:
    """The cells of every table row."""
    lines = [line for line in text.splitlines() if line.startswith("|") and not line.startswith("|--")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


@every_page
def test_views_in_queries_exist(page: Page) -> None:
    for text in [*(text for _, text in page.blocks), *page.inline]:
        for match in re.finditer(r"\b(?:FROM|JOIN) (?:retrospan\.)?([a-z_]+)\b", text):
            assert match[1] in columns(), match[0]


@every_page
def test_columns_named_with_their_view_exist(page: Page) -> None:
    for piece in page.inline:
        if (match := re.fullmatch(r"([a-z_]+)\.([a-z_]+)", piece)) and match[1] in columns():
            assert match[2] in columns()[match[1]], piece


def test_the_headers_list_columns() -> None:
    assert {"run_id", "outcome", "dialects"} <= columns()["runs"]


def statuses() -> dict[str, str]:
    """Each `retrospan.*` attribute of the conventions, and what the page says of it."""
    found: dict[str, str] = {}
    for cells in rows(page("docs/conventions.md").prose):
        for name in re.findall(r"`(retrospan\.[a-z_.]+)`", cells[0]):
            found[name] = cells[-1].partition(":")[0] if len(cells) == 4 else "reserved"
    return found


def test_conventions_say_of_each_attribute_whether_it_is_read() -> None:
    by_engine = [
        word for file in MIGRATIONS.glob("*.sql") for word in re.findall(r"'([^']+)'", file.read_text())
    ]
    words = {
        word
        for word in [*words_of_interpretation(), *by_engine]
        if re.fullmatch(r"retrospan\.[a-z_.]+", word)
    }
    # The names of modules, of the log and of a scope are none; what was taken out of a span is only not mixed with its events.
    used = {word for word in words if not re.match(r"retrospan\.(ingest|interpret)\b", word)}
    used -= {REDACTED, SCOPE_NAME}
    said = statuses()
    assert {name for name, status in said.items() if status == "read"} == used
    assert set(said.values()) == {"read", "reserved"}


_ATTRIBUTE = re.compile(
    r"(gen_ai|llm|openinference|tool|tool_call|session|langfuse|gcp|ai|mlflow|traceloop)\.\w"
)


def test_attributes_of_the_general_rules_are_those_of_the_code() -> None:
    words = words_of_interpretation()
    names = {dialect.name for dialect in DIALECTS}
    inline = page("docs/dialects.md").inline
    named = [piece for piece in inline if _ATTRIBUTE.match(piece) and piece not in names]
    assert len(named) > 60
    named += [place for dialect in DIALECTS for place in places(dialect) if _ATTRIBUTE.match(place)]
    for piece in named:
        stem = re.split(r"\.?[*N…]", piece)[0]
        assert any(word == stem or word.startswith(stem) for word in words), f"{piece} is read nowhere"


def test_every_dialect_is_described() -> None:
    text = page("docs/dialects.md").text
    table = rows(text[text.index("| `dialect` |") :].partition("\n\n")[0])
    assert [cells[0].strip("`") for cells in table[1:]] == [dialect.name for dialect in DIALECTS]


def test_what_is_tested_is_what_is_recorded() -> None:
    text = page("docs/dialects.md").text
    table = rows(text[text.index("| what ran |") :].partition("\n\n")[0])[1:]
    recorded = {
        (package, version) for entry in manifest().values() for package, version in entry["versions"].items()
    }
    for cells in table:
        versions = re.findall(r"\d+\.\d[\w.]*", cells[1])
        package = re.findall(r"`([^`]+)`", cells[1]) or re.findall(r"`([^`]+)`", cells[0])
        assert (package[0], versions[0]) in recorded, cells
    for entry in manifest().values():
        packages = set(entry["versions"])
        assert any(set(re.findall(r"`([\w-]+)`", " ".join(cells[:2]))) <= packages for cells in table), entry


def test_every_cause_of_a_divergence_is_described() -> None:
    statement = (VIEWS / "run_divergence.sql").read_text(encoding="utf-8")
    listed = re.search(r"^--   cause .*?: ([\w, ]+?);", statement, re.MULTILINE)
    assert listed is not None
    text = page("docs/semantics.md").text
    table = text[text.index("| cause |") :].partition("\n\n")[0]
    described = [cells[0].strip("`") for cells in rows(table)][1:]
    assert described == re.split(r", | or ", listed[1])
