"""Each rule finds its fault, and nothing in runs that come near it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from finding_runs import Run
from finding_scenes import FAULTS, HEALTHY

from retrospan.schemas.findings import FindingRow


def found(run: Run) -> list[FindingRow]:
    return run.rows().findings


@pytest.mark.parametrize("rule", FAULTS)
def test_each_fault_is_found_by_its_rule_alone(rule: str) -> None:
    findings = found(FAULTS[rule](7))
    assert {each.rule for each in findings} == {rule}, findings
    for each in findings:
        assert each.explanation.endswith(".") and each.evidence and each.at > 0
        assert all(reference.startswith(("step:", "span:", "message:")) for reference in each.evidence)


@pytest.mark.parametrize("kind", HEALTHY, ids=[kind.__name__ for kind in HEALTHY])
def test_runs_that_come_near_a_rule_are_healthy(kind: Callable[[int], Run]) -> None:
    assert found(kind(11)) == []


def test_at_most_one_in_a_hundred_of_200_healthy_runs_has_a_finding() -> None:
    runs = [HEALTHY[number % len(HEALTHY)](number) for number in range(200)]
    assert [run.run_id for run in runs if found(run)] == []
