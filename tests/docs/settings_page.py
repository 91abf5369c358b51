"""Writes docs/configuration.md from the tree of settings: `python tests/docs/settings_page.py`."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path

from retrospan.ingest.cli.command_table import parser_of
from retrospan.ingest.settings import config
from retrospan.ingest.settings.config import Config, is_setting
from retrospan.ingest.settings.setting_sources import variable
from retrospan.ingest.settings.setting_values import Address, readable

PAGE = Path(__file__).resolve().parents[2] / "docs" / "configuration.md"
HEAD = """# Configuration

Every setting of `retrospan serve`, with its default. A setting can be given as a flag, as an environment variable, or
in a TOML file (`--config FILE`, `RETROSPAN_CONFIG`); a flag takes precedence over a variable, a variable over the file.
In the file the part before the dot is the table: `limits.log_bytes` is `log_bytes` under `[limits]`.

A size is a number of bytes, or text such as `"64 MiB"`. Several values are a list in the file, and separated by commas
elsewhere. With an invalid value, or a misspelt flag, variable or key, the collector does not start, and the error names
the place. `retrospan doctor` lists the settings in force, and where each was given.

This page is made from [config.py](../ingest/retrospan/ingest/settings/config.py).
"""


def page() -> str:
    """The page as it should be."""
    return "\n".join([HEAD, *_sections()])


def _sections() -> Iterator[str]:
    tree = Config()
    yield _table("## The collector", Config, tree, "")
    for part in filter(is_setting, fields(tree)):
        value = getattr(tree, part.name)
        if is_dataclass(value) and not isinstance(value, Address):
            yield _table(f"## {part.name}", type(value), value, f"{part.name}.")


def _table(heading: str, kind: type, values: object, prefix: str) -> str:
    meanings = _meanings(kind)
    flags = set(parser_of("serve").format_help().split())
    lines = [heading, "", inspect.cleandoc(kind.__doc__ or ""), ""] if prefix else [heading, ""]
    lines += ["| key | default | meaning | variable |", "|---|---|---|---|"]
    for part in fields(values):  # type: ignore[arg-type]
        value = getattr(values, part.name)
        if not is_setting(part) or (is_dataclass(value) and not isinstance(value, Address)):
            continue
        key = prefix + part.name
        flag = f"--{part.name.replace('_', '-')}"
        named = f"`{key}`" + (f", `{flag}`" if not prefix and flag in flags else "")
        lines.append(f"| {named} | {_shown(part.name, value)} | {meanings[part.name]} | `{variable(key)}` |")
    return "\n".join([*lines, ""])


def _meanings(kind: type) -> dict[str, str]:
    """What the text after each field says. Raises KeyError later for a field without one."""
    tree = next(
        node
        for node in ast.parse(inspect.getsource(config)).body
        if isinstance(node, ast.ClassDef) and node.name == kind.__name__
    )
    found: dict[str, str] = {}
    for node, follows in zip(tree.body, tree.body[1:], strict=False):
        if (
            isinstance(node, ast.AnnAssign)
            and isinstance(node.target, ast.Name)
            and isinstance(follows, ast.Expr)
            and isinstance(follows.value, ast.Constant)
        ):
            found[node.target.id] = " ".join(str(follows.value.value).split())
    return found


def _shown(name: str, value: object) -> str:
    text = readable(name, value)
    return f"`{text}`" if text and not isinstance(value, int | float) else text or "none"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
