"""The file of alert rules: what it may say, and the line that an error names."""

from __future__ import annotations

from pathlib import Path

import pytest

from retrospan.ingest.alerts.rules import AlertRules, Program, Webhook, read_rules
from retrospan.schemas.errors import ConfigError

TARGETS = """[[target]]
name = "oncall"
url = "https://hooks.example/agents"
secret_file = "/etc/key"

[[target]]
name = "pager"
command = ["/usr/local/bin/page", "--team", "--team"]
"""
RULE = """
[[rule]]
name = "failing"
view = "runs"
where = "outcome = 'error' -- those that failed"
condition = "count() >= 5"
window = "15m"
cooldown = "2h"
severity = "critical"
to = ["oncall", "pager"]
"""


def test_a_whole_file() -> None:
    found = read_rules(TARGETS + RULE, "alerts.toml")
    (rule,) = found.rules
    assert (rule.window, rule.cooldown, rule.severity, rule.to) == (
        900,
        7200,
        "critical",
        ("oncall", "pager"),
    )
    assert rule.time == "last_said_at" and rule.show == ("run_id", "agent_name")
    assert rule.where == "outcome = 'error'", "a comment would hide the bracket after it"
    targets = found.targets or {}
    assert isinstance(targets["oncall"], Webhook)
    assert isinstance(targets["pager"], Program) and targets["pager"].command[1:] == ("--team", "--team")


def test_without_a_file_there_are_no_rules() -> None:
    assert AlertRules.configured(None).rules == ()


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ('view = "runs"', 'view = "rons"', 12, "there is no view 'rons'; did you mean 'runs'?"),
        ('view = "runs"', 'view = "agents"', 12, "the rows of agents have no time"),
        ('view = "runs"', 'view = "run_diff"', 12, "run_diff takes parameters"),
        ('window = "15m"', 'window = "15 parsecs"', 15, "'15 parsecs' is not a duration"),
        ('window = "15m"', 'window = "1s"', 15, "not between 60 s and 90 d"),
        ('window = "15m"', "", 10, "window is needed"),
        ('condition = "count() >= 5"', 'condition = "count()) > (1"', 14, "')' at line 1 column 8 ends"),
        ('condition = "count() >= 5"', 'condition = "1; DROP TABLE x"', 14, "';' at line 1 column 2 ends"),
        ('condition = "count() >= 5"', 'condition = "(count() > 1"', 14, "1 brackets are not closed"),
        ('condition = "count() >= 5"', 'condition = "x = \'a"', 14, "not closed"),
        ('condition = "count() >= 5"', 'conditon = "1"', 14, "did you mean 'condition'?"),
        ('"critical"', '"awful"', 17, "'awful' is not one of info, warning, critical"),
        ('"pager"]', '"paper"]', 18, "there is no target 'paper'; did you mean 'pager'?"),
        ('to = ["oncall", "pager"]', "to = []", 18, "[] is not a list of names"),
        (
            'severity = "critical"',
            'show = ["inputs"]',
            17,
            "the view runs has no column 'inputs'; did you mean 'input",
        ),
        ('severity = "critical"', 'time = "outcome"', 17, "outcome is not a time"),
        ('severity = "critical"', 'link = "https://x.example/"', 17, "is not an address with {run_id}"),
        ('name = "failing"', 'name = "fail ing"', 11, "characters other than letters"),
        ("https://hooks", "http://hooks", 3, "plain HTTP can be read on the way"),
        ("https://hooks", "https://me:pw@hooks", 3, "the address has a user in it"),
        ("https://hooks.example/agents", "ftp://hooks.example", 3, "not an address such as"),
        ("https://hooks.example/agents", "https://hooks.example/a\\r\\nX: y", 3, "control characters"),
        ("https://hooks.example/agents", "https://hooks.example:0/", 3, "not an address such as"),
        ('secret_file = "/etc/key"', "", 1, "secret_file is needed"),
        ('url = "https://hooks.example/agents"', "", 2, "a target needs one of url, url_file and command"),
        ('["/usr/local/bin/page", "--team", "--team"]', '"page --team"', 8, "write its words as a list"),
        ('"/usr/local/bin/page"', '"page"', 8, "'page' is not an absolute path"),
        ('name = "pager"', 'name = "oncall"', 7, "already the name of another target"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_line(old: str, new: str, line: int, said: str) -> None:
    source = TARGETS + RULE
    assert old in source
    with pytest.raises(ConfigError) as error:
        read_rules(source.replace(old, new, 1), "alerts.toml")
    assert f"alerts.toml line {line}: " in str(error.value) and said in str(error.value), str(error.value)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("rule = 1", "line 1: write [[rule]]"),
        ("[rules]", "line 1: unknown key 'rules'; did you mean 'rule'?"),
        (TARGETS, "has no rules"),
        (TARGETS + RULE + RULE, "line 21: name: 'failing' is already the name of another rule"),
        ("a = ", "is not TOML"),
    ],
)
def test_a_file_that_is_none(source: str, said: str) -> None:
    with pytest.raises(ConfigError, match="alerts") as error:
        read_rules(source, "alerts.toml")
    assert said in str(error.value)


def test_a_file_that_others_can_change_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "alerts.toml"
    file.write_text(TARGETS + RULE)
    file.chmod(0o622)
    with pytest.raises(ConfigError, match="can be written by others"):
        AlertRules.configured(file)


def test_no_row_may_fall_between_two_evaluations() -> None:
    rules = read_rules(TARGETS + RULE, "alerts.toml")
    rules.require_timely(900)
    with pytest.raises(ConfigError, match="failing: its window of 900 s is shorter"):
        rules.require_timely(901)
    with pytest.raises(ConfigError, match="1 second is the least"):
        rules.require_timely(0)


def test_an_unknown_rule_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean 'failing'"):
        read_rules(TARGETS + RULE, "alerts.toml").named("faling")
