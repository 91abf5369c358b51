"""The pages are true of the tree that holds them: links, commands, flags, targets, variables, settings, code."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import tomllib
from dataclasses import fields, is_dataclass

import pytest
import yaml
from docs.pages import PAGES, TOP, Page

from retrospan.ingest.cli.command_table import COMMANDS, parser_of
from retrospan.ingest.settings.config import Config
from retrospan.ingest.settings.setting_sources import variable
from retrospan.ingest.settings.setting_values import Address

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)

_OF_A_MACHINE = re.compile(r"/(work|root|home|Users)/\w|(?<![\w.])/tmp/\w|\bC:\\")


def test_there_are_pages() -> None:
    names = {page.name for page in PAGES}
    assert {"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs/semantics.md"} <= names


@every_page
def test_links_lead_somewhere(page: Page) -> None:
    for link in page.links:
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.path.parent / path).resolve() if path else page.path
        assert target.is_relative_to(TOP), f"{link} leaves the repository"
        assert target.exists(), f"{link} leads nowhere"
        if anchor:
            assert anchor in Page(target).anchors, f"{link} names no heading"


def commands_in(page: Page) -> list[list[str]]:
    """The words of each `retrospan …` that a page shows, after the name of the program."""
    found: list[list[str]] = []
    for line in page.code:
        for match in re.finditer(r"(?:^|[\s(/$])retrospan ((?:[a-z]|--?[a-z]|COMMAND)[^|;&#]*)", line):
            found.append(match[1].split())
    return found


@every_page
def test_commands_and_flags_exist(page: Page) -> None:
    for words in commands_in(page):
        name = words[0].strip("`,.:)")
        if name.startswith("-") or name == "COMMAND":
            assert name in ("--help", "--version", "--debug", "COMMAND"), f"retrospan {name}"
            continue
        assert name in COMMANDS, f"retrospan {name}"
        known = {*parser_of(name).flag_names(), "--help", "-h", "--debug"}
        for word in words[1:]:
            flag = re.match(r"\[?(--[a-z][a-z-]*)", word)
            assert flag is None or flag[1] in known, f"retrospan {name} {word}"


@every_page
def test_make_targets_exist(page: Page) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (TOP / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for line in page.code:
        for match in re.finditer(r"(?:^|[\s`$])make ([a-z-]+)", line):
            assert match[1] in targets, f"make {match[1]}"


def keys(tree: object, prefix: str = "") -> set[str]:
    """Every setting by its key, sections included."""
    found: set[str] = set()
    if is_dataclass(tree):
        for part in fields(tree):
            value = getattr(tree, part.name)
            found.add(prefix + part.name)
            if not isinstance(value, Address):
                found |= keys(value, f"{prefix}{part.name}.")
    return found


@every_page
def test_variables_and_settings_exist(page: Page) -> None:
    settings = keys(Config())
    variables = {variable(key) for key in settings} | {
        name
        for root in ("exporter", "ingest", "queries")
        for file in (TOP / root / "retrospan").rglob("*.py")
        for name in re.findall(r"RETROSPAN_[A-Z_]+[A-Z]", file.read_text(encoding="utf-8"))
    }
    for line in page.code:
        for name in re.findall(r"RETROSPAN_[A-Z_]*[A-Z]", line):
            assert name in variables, name
        for name in re.findall(r"^(?:limits|loader|interpreter)\.\w+$", line):
            assert name in settings | chart_values(), name


def chart_values() -> set[str]:
    """Every value of the chart that lies in another one."""
    tree = yaml.safe_load((TOP / "helm/retrospan/values.yaml").read_text(encoding="utf-8"))
    return {f"{part}.{name}" for part, values in tree.items() if isinstance(values, dict) for name in values}


def test_values_of_the_chart_exist() -> None:
    (page,) = (page for page in PAGES if page.name == "docs/deploy.md")
    parts = "|".join({name.partition(".")[0] for name in chart_values()} - {"config", "image"})
    named = [piece for piece in page.inline if re.fullmatch(rf"({parts})\.[a-zA-Z]+", piece)]
    assert len(named) > 8
    assert set(named) - {"tokens.toml"} <= chart_values()


@every_page
def test_code_parses(page: Page) -> None:
    for language, text in page.blocks:
        if language == "python":
            ast.parse(text)
        elif language == "toml":
            tomllib.loads(text)
        elif language in ("sh", "bash"):
            done = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
        elif language == "json":
            json.loads(text)
        else:
            assert language in ("", "text", "sql", "proto", "yaml"), f"a block of {language!r} is not checked"


@every_page
def test_no_page_names_a_developers_machine(page: Page) -> None:
    found = _OF_A_MACHINE.search(page.text)
    assert found is None, page.text[max(0, found.start() - 40) : found.end() + 40]


@every_page
def test_lines_are_no_longer_than_120(page: Page) -> None:
    long = [line for line in page.prose.splitlines() if len(line) > 120 and not line.startswith("|")]
    # A record of a decision stays as it was written.
    is_record = bool(re.fullmatch(r"docs/decisions/\d{4}-.*", page.name))
    assert long == [] or is_record or "This page is generated" in page.text


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if re.fullmatch(r"docs/decisions/\d{4}-.*", page.name)],
    ids=lambda page: page.name,
)
def test_a_decision_has_the_same_four_parts_as_the_others(page: Page) -> None:
    parts = re.findall(r"^## (.+)$", page.prose, re.MULTILINE)
    assert parts == ["Decision", "Why", "Rejected", "Consequences"]
