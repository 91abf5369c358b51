"""An apply that is bound to a plan deletes what that plan listed, or nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from keeping import MINUTE, Keeper, agent_run, named, trace_of

from retrospan.ingest.retention.policy.policy import default_policy
from retrospan.ingest.retention.receipts.listed import PlanMark
from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse
from retrospan.schemas.errors import BadRequest


@pytest.fixture
def keeper(warehouse: EmbeddedWarehouse, tmp_path: Path) -> Iterator[Keeper]:
    """Three runs that are due after a week, and one that is flagged by hand; the clock says eight days later."""
    keeper = Keeper(warehouse, tmp_path)
    keeper.send([agent_run(f"ok-{number}", "ok") for number in range(3)])
    keeper.send([agent_run("odd", "ok"), agent_run("bad", "error")])
    keeper.settle()
    keeper.marks.flag({"run": trace_of("odd")})
    keeper.after(8)
    yield keeper
    keeper.close()


def planned(keeper: Keeper) -> PlanMark:
    return PlanMark.parse(keeper.retention.plan(default_policy(), lambda told: None).plan)


def carried_out(keeper: Keeper, plan: PlanMark) -> list[str]:
    lines: list[Mapping[str, object]] = []
    keeper.retention.apply(default_policy(), lines.append, by="tests", listed=True, plan=plan)
    return named(lines)


def ids(*names: str) -> list[str]:
    return sorted(trace_of(name) for name in names)


@pytest.mark.long
def test_what_became_due_after_the_plan_is_not_deleted_with_it(keeper: Keeper) -> None:
    plan = planned(keeper)
    assert (plan.at, plan.runs) == (keeper.now, 3)
    assert planned(keeper) == plan, "the same is known by the same"
    keeper.after(31)
    assert keeper.plan() == ids("ok-0", "ok-1", "ok-2", "bad")
    assert carried_out(keeper, plan) == ids("ok-0", "ok-1", "ok-2")
    assert keeper.runs() == ids("odd", "bad")
    with pytest.raises(BadRequest, match="3 runs and traces then, 0 now"):
        carried_out(keeper, plan)
    assert keeper.apply() == ids("bad"), "without a plan it deletes what is due now"


@pytest.mark.long
@pytest.mark.parametrize("what", ["more", "fewer", "other content"])
def test_if_anything_else_is_due_than_was_listed_nothing_is_deleted(keeper: Keeper, what: str) -> None:
    plan = planned(keeper)
    if what == "more":
        keeper.marks.flag({"run": trace_of("odd"), "remove": True})
        told = "3 runs and traces then, 4 now"
    elif what == "fewer":
        keeper.marks.hold({"run": trace_of("ok-1")})
        told = "3 runs and traces then, 2 now"
    else:
        # It arrived in the test's past: the run is still due, with one span more.
        keeper.send([agent_run("ok-1", "ok", said="something else")])
        keeper.settle()
        told = "3 runs and traces then, as many now, but other ones, or with other content"
    before = keeper.runs()
    with pytest.raises(BadRequest, match=told):
        carried_out(keeper, plan)
    assert keeper.runs() == before
    assert keeper.rows("SELECT count() FROM retention_log") == [[0]]


@pytest.mark.long
def test_what_comes_to_match_while_the_plan_is_carried_out_is_left(keeper: Keeper) -> None:
    plan = planned(keeper)
    lifted = False

    def lift(told: Mapping[str, object]) -> None:
        nonlocal lifted
        if told.get("phase") == "comparing with the plan" and not lifted:
            lifted = True
            keeper.marks.flag({"run": trace_of("odd"), "remove": True})

    summary = keeper.retention.apply(default_policy(), lift, by="tests", plan=plan)
    assert lifted
    assert (summary.units, summary.unlisted) == (3, 1)
    assert keeper.runs() == ids("odd", "bad")


@pytest.mark.long
def test_a_plan_for_later_is_not_carried_out_before(keeper: Keeper) -> None:
    summary = keeper.retention.plan(default_policy(), lambda told: None, at=keeper.now + MINUTE)
    with pytest.raises(BadRequest, match="apply it when its time has come"):
        carried_out(keeper, PlanMark.parse(summary.plan))
    keeper.now += MINUTE
    assert carried_out(keeper, PlanMark.parse(summary.plan)) == ids("ok-0", "ok-1", "ok-2")


@pytest.mark.parametrize("text", ["", "12", "1-2-3", "1-2-" + "g" * 32, "-1-2-" + "0" * 32])
def test_what_no_plan_printed_is_refused(text: str) -> None:
    with pytest.raises(BadRequest, match="not what a plan printed"):
        PlanMark.parse(text)
