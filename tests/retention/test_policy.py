"""What a policy file says, and that what cannot be meant is refused with its line."""

from __future__ import annotations

import pytest

from retrospan.ingest.retention.policy.ages import DAY, HOUR
from retrospan.ingest.retention.policy.candidate import Candidate, class_of, share_of
from retrospan.ingest.retention.policy.policy import Policy, default_policy, read_policy
from retrospan.schemas.errors import ConfigError

FILE = """
[keep]
ok = "2d"
test = "12h"
golden = "forever"

[sample]
share = 0.1
rest = "1d"

[archive]
keep = "10d"

[[rule]]
name = "billing"
agent = "billing-*"
environment = "prod"
class = ["ok", "error"]
keep = "90d"

[[rule]]
tenant = "acme"
keep = "36h"
"""


def candidate(run_id: str = "r", **known: object) -> Candidate:
    return Candidate(tenant="default", run_id=run_id, **known)  # type: ignore[arg-type]  # fields by name


def due(policy: Policy, run: Candidate) -> int | None:
    return policy.judge(run).due_at


def test_the_first_that_applies() -> None:
    everything = {"run_kind": "golden", "flagged": True, "held": True, "outcome": "error"}
    order = []
    for known in (
        everything,
        {**everything, "held": False},
        {**everything, "held": False, "run_kind": "test"},
        {"run_kind": "test", "outcome": "error"},
        {"outcome": "error"},
        {"outcome": "incomplete"},
        {},
    ):
        order.append(class_of(candidate(**known)))
    assert order == ["held", "golden", "flagged", "test", "error", "incomplete", "ok"]


def test_the_defaults() -> None:
    policy = default_policy()
    assert due(policy, candidate(arrived_at=5)) == 5 + 7 * DAY
    assert due(policy, candidate(run_kind="golden")) is None
    assert due(policy, candidate(held=True)) is None
    assert policy.shortest == DAY


def test_a_file() -> None:
    policy = read_policy(FILE, "keep.toml")
    assert policy.archive == 10 * DAY
    assert due(policy, candidate(run_kind="test")) == 12 * HOUR
    assert due(policy, candidate(agent_name="billing-eu", environment="prod")) == 90 * DAY
    assert (
        due(policy, candidate(agent_name="billing-eu", environment="prod", outcome="incomplete")) == 30 * DAY
    )
    acme = Candidate(tenant="acme", run_id="r", outcome="error")
    assert due(policy, acme) == 36 * HOUR
    flagged = Candidate(tenant="acme", run_id="r", flagged=True)
    assert due(policy, flagged) == 90 * DAY, "a rule without a class spares what people chose"


def test_a_bracket_in_a_name_is_a_bracket() -> None:
    policy = read_policy('[[rule]]\nagent = "bot[1]*"\nkeep = "forever"', "keep.toml")
    assert due(policy, candidate(agent_name="bot[1] of two")) is None
    assert due(policy, candidate(agent_name="bot1")) == 7 * DAY


def test_the_sample_is_the_same_for_ever_and_of_successes_only() -> None:
    policy = read_policy(FILE, "keep.toml")
    names = [f"run-{number}" for number in range(4000)]
    kept = {name for name in names if due(policy, candidate(name)) == 2 * DAY}
    assert {due(policy, candidate(name)) for name in set(names) - kept} == {DAY}
    assert 340 < len(kept) < 460
    assert kept == {name for name in names if share_of(name) < 0.1}
    assert share_of("run-1") == 0.30624127292747044
    assert {due(policy, candidate(name, outcome="error")) for name in names} == {30 * DAY}


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ('[keep]\nok = "7d"\nokay = "7d"', 3, "unknown class 'okay'; did you mean 'ok'"),
        ('[keep]\nok = "-7d"', 2, "an age cannot be negative"),
        ('[keep]\n\nok = "0d"', 3, "deletes everything"),
        ("[keep]\nok = 7", 2, "not an age"),
        ('[keep]\nok = "20000w"', 2, "over a hundred years is written forever"),
        (f'[keep]\nok = "{"9" * 400}d"', 2, "over a hundred years is written forever"),
        ('[keep]\nheld = "30d"', 2, "cannot shorten a hold"),
        ('[[rule]]\nagent = "a"\nkeep = "1d"\nclass = "held"', 4, "cannot shorten a hold"),
        ('[[rule]]\nagent = "a"\nkeep = "1d"\n\n[[rule]]\nkeep = "1d"', 5, "everything would be deleted"),
        ('[[rule]]\nagent = "*"\nkeep = "1d"', 1, "everything would be deleted"),
        ('[[rule]]\nagent = "a"', 1, "needs keep"),
        ('[[rule]]\nagent = "a"\nkeep = "1d"\nclass = ["okk"]', 4, "unknown class 'okk'"),
        ('[[rule]]\nagnt = "a"\nkeep = "1d"', 2, "unknown key 'agnt'; did you mean 'agent'"),
        ("[sample]\nshare = 1.5", 2, "between 0 and 1"),
        ('[keeep]\nok = "7d"', 1, "unknown key 'keeep'; did you mean 'keep'"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_line(text: str, line: int, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_policy(text, "keep.toml")
    assert f"keep.toml line {line}: " in str(caught.value)
    assert says in str(caught.value)


def test_what_is_not_toml_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"keep.toml is not TOML: .*line 2"):
        read_policy("[keep]\nok = = 1", "keep.toml")
