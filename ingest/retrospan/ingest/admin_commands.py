"""The commands that keep: `flag`, `hold`, `retention` and `verify`, as the SQL port's `POST /admin/v1/…` runs them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast

from retrospan.ingest.load.chain import Chains
from retrospan.ingest.retention.deletion.retention import Retention
from retrospan.ingest.retention.policy.policy import read_policy, read_policy_file
from retrospan.ingest.retention.receipts.listed import PlanMark
from retrospan.ingest.retention.receipts.marks import LAST, Marks
from retrospan.ingest.rules.ruleset import NO_RULES, Ruleset
from retrospan.ingest.verify.request import VerifyRequest
from retrospan.ingest.verify.verification import Verification
from retrospan.ingest.warehouse.warehouse import Warehouse
from retrospan.schemas.errors import BadRequest

Report = Callable[[Mapping[str, object]], None]
Command = Callable[[Mapping[str, object], Report], None]
_KNOWN = {"action": str, "policy": str, "file": str, "at": int, "listed": bool, "by": str, "plan": str}
_LONGEST_POLICY = 1 << 20


def commands(
    warehouse: Warehouse,
    marks: Marks,
    retention: Retention,
    chains: Chains,
    log_number: int,
    policy_file: Path | None,
    rules: Callable[[], Ruleset] = lambda: NO_RULES,
    prices: bytes = b"",
) -> dict[str, Command]:
    """Each command by its name. `rules` are the mutation rules that runs are read by, `prices` what models cost when."""
    verification = Verification(
        warehouse,
        retention.log,
        chains,
        log_number,
        rules=rules,
        prices=prices,
        stopping=retention.stopping,
        shared=not retention.alone,
    )

    def carry_out_waiting(report: Report) -> None:
        # What a receipt names goes, whatever is said of it now: a mark that follows must not seem to keep it.
        if retention.has_unburied():
            retention.finish(report)

    def flag(arguments: Mapping[str, object], report: Report) -> None:
        carry_out_waiting(report)
        report(marks.flag(arguments))

    def hold(arguments: Mapping[str, object], report: Report) -> None:
        carry_out_waiting(report)
        report(marks.hold(arguments))

    def retain(arguments: Mapping[str, object], report: Report) -> None:
        told = _read(arguments)
        policy = (
            read_policy(cast(str, told["policy"]), cast(str, told.get("file", "the policy")))
            if "policy" in told
            else read_policy_file(policy_file)
        )
        listed = told.get("listed") is True
        if told["action"] == "plan":
            summary = retention.plan(policy, report, at=cast(int, told.get("at", 0)), listed=listed)
        else:
            plan = PlanMark.parse(cast(str, told["plan"])) if "plan" in told else None
            summary = retention.apply(
                policy, report, by=cast(str, told.get("by", "")), listed=listed, plan=plan
            )
        report({"summary": summary.told()})

    def check(arguments: Mapping[str, object], report: Report) -> None:
        verification.run(VerifyRequest.of(arguments), report)

    return {"flag": flag, "hold": hold, "retention": retain, "verify": check}


def _read(arguments: Mapping[str, object]) -> dict[str, object]:
    for name, value in arguments.items():
        if name not in _KNOWN:
            raise BadRequest(f"retention does not take '{name}'. It takes: {', '.join(_KNOWN)}.")
        if type(value) is not _KNOWN[name] or (isinstance(value, str) and len(value) > _LONGEST_POLICY):
            raise BadRequest(
                f"retention: '{name}' is {str(value)[:80]!r}, which has the wrong type, or is too long."
            )
    if arguments.get("action") not in ("plan", "apply"):
        raise BadRequest("retention needs 'action': plan or apply.")
    if arguments.get("action") == "apply" and "at" in arguments:
        raise BadRequest(
            "retention apply does not take 'at': it deletes what is due now. `retention plan` does."
        )
    if arguments.get("action") == "plan" and "plan" in arguments:
        raise BadRequest("retention plan does not take 'plan': it makes one. `retention apply` does.")
    at = arguments.get("at", 0)
    if isinstance(at, int) and not 0 <= at <= LAST:
        raise BadRequest("retention: 'at' is a time from 1970 to 2262.")
    return dict(arguments)
