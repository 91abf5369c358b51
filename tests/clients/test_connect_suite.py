"""clickhouse-connect's own tests against port 8123: all pass but those that are listed, each for the reason given."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from clients.conftest import Scene
from clients.connect_suite import NotApplied, Outcome, judged, not_applied, outcomes

_CHECKOUT = "CLICKHOUSE_CONNECT_CHECKOUT"


@pytest.mark.long
def test_its_own_tests_pass_as_far_as_they_apply(scene: Scene, tmp_path: Path) -> None:
    if not os.environ.get(_CHECKOUT):
        pytest.skip(f"{_CHECKOUT} does not say where a checkout of clickhouse-connect is")
    counted, wrong = judged(
        outcomes(Path(os.environ[_CHECKOUT]), scene.served.sql, tmp_path / "suite"), not_applied()
    )
    print(", ".join(f"{number} {what}" for what, number in sorted(counted.items())))
    assert not wrong, "\n".join(wrong)
    assert counted["passed"] > 200


def test_each_test_is_listed_once() -> None:
    listed = [test for each in not_applied() for test in each.tests]
    assert len(listed) == len({*listed})
    assert not [test for test in listed if "::" in test and test.partition("::")[0] in listed]


def test_the_list_may_not_hide_anything() -> None:
    listed = [NotApplied("it writes", "DROP is refused", ["a.py", "b.py::writes", "b.py::reads[some]"])]
    refused = Outcome("failed", "Code: 164. DROP is refused.")
    found = {
        "a.py::one": refused,
        "b.py::writes[all]": refused,
        "b.py::reads[some]": refused,
        "b.py::reads[all]": Outcome("passed"),
        "b.py::skips": Outcome("skipped"),
    }
    counted, wrong = judged(found, listed)
    assert (counted, wrong) == ({"not applied": 3, "passed": 1, "skipped": 1}, [])
    for name, outcome, said in (
        ("c.py::reads", refused, "c.py::reads fails: "),
        ("a.py::two", Outcome("passed"), "a.py::two is listed, and it passed"),
        ("a.py::two", Outcome("failed", "AssertionError"), "a.py::two fails otherwise than listed: "),
    ):
        (complaint,) = judged({**found, name: outcome}, listed)[1]
        assert complaint.startswith(said)
    del found["a.py::one"]
    assert judged(found, listed)[1] == ["a.py is listed and was not there"]
