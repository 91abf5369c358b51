"""`rules test` over hand-written runs: what the rules would give, what they miss, and that nothing changes."""

from __future__ import annotations

import json
from pathlib import Path

from fix_cli import HELD, Ask

_RULE = """
[[rule]]
name = "{name}"
tool = "{tool}"
entity = "record"
id = "{id}"
{more}
"""


def _file(
    path: Path, name: str = "records", tool: str = "update_record", id: str = "arguments.id", more: str = ""
) -> str:
    """A file with one rule."""
    more = more or 'field = "=ship_today"\nafter = "arguments.value"'
    file = path / f"{name}.toml"
    file.write_text(_RULE.format(name=name, tool=tool, id=id, more=more), encoding="utf-8")
    return str(file)


def test_what_rules_would_give(ask: Ask, tmp_path: Path) -> None:
    said = ask("rules", "test", _file(tmp_path))
    assert said.code == 0
    assert said.lines[0].split() == ["CALL", "TOOL", "ENTITY", "FIELD", "BEFORE", "AFTER", "RULE"]
    assert said.lines[1].split() == [
        "7f3e91d0/4",
        "update_record",
        "record/O-77",
        "ship_today",
        "-",
        '"no"',
        "records",
    ]
    assert "1 observation from 1 call that succeeded; nothing was changed" in said.err
    asked = "SELECT count() AS n FROM observations WHERE startsWith(source, 'rule:')"
    assert [*map(json.loads, ask("sql", asked, "--format", "json").lines)] == [{"n": 0}]


def test_as_json_for_one_run(ask: Ask, tmp_path: Path) -> None:
    said = ask("rules", "test", _file(tmp_path, tool="update_*"), "--run", "7f3e91d0", "--json")
    (row,) = map(json.loads, said.lines)
    assert (row["run_id"], row["step"], row["entity_type"], row["entity_id"]) == (HELD, 4, "record", "O-77")
    assert (row["field"], row["op"], row["value"], row["source"]) == (
        "ship_today",
        "set",
        "no",
        "rule:records",
    )
    assert ask("rules", "test", _file(tmp_path), "--run", "91c0d7e2", "--json").out == ""


def test_what_a_rule_misses_is_reported(ask: Ask, tmp_path: Path) -> None:
    file = _file(tmp_path, id="arguments.record_id")
    said = ask("rules", "test", file, "--exit-code")
    assert said.code == 1
    assert (
        "rule records, 7f3e91d0/4: id: arguments.record_id does not lead to a text or whole number"
        in said.err
    )
    (row,) = map(json.loads, ask("rules", "test", file, "--json").lines)
    assert (row["problem"], row["reason"].partition(":")[0], row["tool_name"]) == (
        "rule:records",
        "id",
        "update_record",
    )


def test_a_rule_that_fits_nothing_is_reported(ask: Ask, tmp_path: Path) -> None:
    said = ask("rules", "test", _file(tmp_path, more='agent = "nobody"\nafter = "arguments"'), "--exit-code")
    assert (said.code, said.out) == (1, "") and "no call here fits rule records" in said.err
    services = ask("rules", "test", _file(tmp_path, more='service = "nowhere"\nafter = "arguments"'))
    assert services.code == 0 and "no call here fits" in services.err


def test_a_file_that_cannot_be_used(ask: Ask, tmp_path: Path) -> None:
    said = ask("rules", "test", _file(tmp_path, more="aftr = 1"))
    assert (
        said.code == 2 and "records.toml line 7: aftr: not a key of a rule; did you mean 'after'?" in said.err
    )
    assert ask("rules", "test", str(tmp_path / "none.toml")).code == 2
    assert ask("rules", "try", "x").code == 2
