"""The stories of the state seeds, told by agents over OTLP."""

from __future__ import annotations

import json

from state.agents import SECOND, Agent, at, checkpoint, decide, observe, use

CONFIG = "config/acme-config"
PIPELINE = "pipeline/nightly"
FIELDS = ("cursor", "batch", "rows", "status", "checksum")


def configure(agent: Agent) -> None:
    """A config before and after a deploy at 14:00: two changes, a rewrite of the same, an attempt below a correction."""
    with agent.run("ops-0900", "ops", at("09:00"), at("09:05")) as root:
        with agent.step(1, "set up", at("09:00"), at("09:04")) as span:
            observe(
                span,
                CONFIG,
                {"rate_limit": 50, "region": "us-east-1", "owner": "ops", "debug": True},
                at("09:01"),
            )
        observe(root, CONFIG, {"debug": None}, at("09:04"), reason="no longer needed")
    reading = agent.run("reader-1400", "reader", at("14:05"), at("14:06"))
    with reading, agent.step(1, "read the limit", at("14:05"), at("14:06")) as span:
        use(span, CONFIG, at("14:05"), field="rate_limit")
    with agent.run("tuner-1430", "tuner", at("14:30"), at("14:33")):
        with agent.step(1, "look", at("14:30"), at("14:31")) as span:
            use(span, CONFIG, at("14:30"), field="rate_limit")
            observe(span, CONFIG, {"rate_limit": 50}, at("14:30", seconds=1))
        with agent.step(2, "raise the limit", at("14:32"), at("14:33")) as span:
            observe(
                span,
                CONFIG,
                {"rate_limit": 100},
                at("14:32"),
                source="load test",
                reason="429s in production",
            )
    moving = agent.run("mover-1435", "mover", at("14:35"), at("14:40"))
    with moving, agent.step(1, "move the region", at("14:38"), at("14:39")) as span:
        changes = {"region": "eu-north-1"}
        observe(span, CONFIG, changes, at("14:38"), correction=True, reason="wrong since 09:01")
    with agent.run("guesser-1445", "guesser", at("14:45"), at("14:46")) as root:
        observe(root, CONFIG, {"region": "us-east-1"}, at("14:45"), priority=5000)
    with agent.run("late-0700", "importer", at("15:00"), at("15:01")) as root:
        # Said at 15:00, true since 07:00: it changes what held in the morning, and nothing since the deploy.
        observe(root, CONFIG, {"owner": "founders"}, at("15:00"), valid_from="2026-11-20T07:00:00Z")


def crash(agent: Agent) -> dict[str, str]:
    """A pipeline that crashes at 03:12, 847 observations after its last checkpoint at 22:00; returns its state then."""
    state: dict[str, str] = {}
    start, end = at("22:00"), at("03:12", days=1)
    observations = 0
    with agent.run("nightly", "loader", start, end, failed="MemoryError: killed") as root:
        checkpoint(root, "cp-2200", start)
        for step in range(1, 8):
            began = start + (end - start) // 7 * (step - 1)
            with agent.step(step, f"load part {step}", began, began + (end - start) // 7) as span:
                for number in range(121):
                    when = began + number * 20 * SECOND
                    field = FIELDS[(number * step) % len(FIELDS)]
                    value = f"{step}-{number // 2}"
                    clears = number % 40 == 39
                    observe(span, PIPELINE, {field: None if clears else value}, when)
                    observations += 1
                    if when <= end:
                        state.pop(field, None)
                        state |= {} if clears else {field: json.dumps(value)}
        assert observations == 847
    with agent.run("nightly-again", "loader", end + 600 * SECOND, end + 700 * SECOND) as root:
        observe(root, PIPELINE, dict.fromkeys(FIELDS, "restarted"), end + 600 * SECOND)
    return state


def evaluate(agent: Agent) -> None:
    """Two ingested observations, and an evaluation whose output 2841 rests on them."""
    for number, document in ((4091, "policy.pdf"), (4092, "prices.csv")):
        ingesting = agent.run(f"ingest-{number}", "ingest", at("06:00"), at("06:01"))
        with ingesting, agent.step(1, f"read {document}", at("06:00"), at("06:01")) as span:
            observe(span, "fact/refund", {document: number}, at("06:00"), observation__id=str(number))
            derivation = {
                "retrospan.relation": "wasDerivedFrom",
                "retrospan.subject": f"observation:{number}",
                "retrospan.object": f"document:{document}",
            }
            span.add_event("retrospan.derivation", derivation, at("06:00"))
    judging = agent.run("eval-2841", "judge", at("07:00"), at("07:05"), retrospan__run__kind="eval")
    with judging, agent.step(1, "judge", at("07:00"), at("07:05"), retrospan__output__id="2841") as span:
        for number in (4091, 4092):
            use(span, "fact/refund", at("07:01"), observation__id=str(number))


def ship(agent: Agent) -> None:
    """A task of nine steps that fails at the sixth after it sent a mail; its retry sends the mail again."""
    for run_id, day, ends in (("task_abc123", 0, "error"), ("task_abc123-2", 1, "ok")):
        start = at("10:00", days=day)
        failed = "TimeoutError: the ledger did not answer" if ends == "error" else ""
        more = {} if ends == "error" else {"retrospan__run__origin": "task_abc123"}
        with agent.run(run_id, "shipper", start, start + 100 * SECOND, failed, **more):
            state: dict[str, object] = {"order": "A-17", "mails": 0}
            with agent.step(
                4,
                "tell the customer",
                start + SECOND,
                start + 9 * SECOND,
                retrospan__state__before=json.dumps(state),
                retrospan__state__after=json.dumps(state | {"mails": 1}),
                retrospan__state__schema="order@3",
                retrospan__step__total=9,
            ) as span:
                decide(
                    span, "channel", ["mail", "phone"], "mail", "the customer asked for it", start + SECOND
                )
                agent.tool(
                    "send_email",
                    {"to": "ada@example.com"},
                    {"message_id": f"m-{day}"},
                    start + 2 * SECOND,
                    start + 3 * SECOND,
                    attributes={
                        "retrospan.effect": "write",
                        "retrospan.idempotency.key": "task_abc123:step_4:send_email:f3a9b12c",
                    },
                )
            state["mails"] = 1
            with agent.step(
                6,
                "book",
                start + 10 * SECOND,
                start + 60 * SECOND,
                failed,
                retrospan__state__patch=json.dumps([{"op": "add", "path": "/booked", "value": True}]),
                retrospan__step__total=9,
            ):
                agent.tool(
                    "reserve",
                    {"order": "A-17"},
                    {"ok": True},
                    start + 11 * SECOND,
                    start + 12 * SECOND,
                    attributes={"retrospan.effect": "destructive"},
                )
                for attempt, wait in ((1, 0), (2, 500)) if failed else ((1, 0),):
                    agent.tool(
                        "book",
                        {"order": "A-17"},
                        {"ok": True},
                        start + (20 + 10 * attempt) * SECOND,
                        start + (25 + 10 * attempt) * SECOND,
                        failed,
                        attributes={
                            "retrospan.effect": "write",
                            "retrospan.idempotency.key": "task_abc123:step_6:book:0a1b",
                            "retrospan.attempt": attempt,
                            **({"retrospan.attempt.backoff_ms": wait} if attempt > 1 else {}),
                        },
                    )


def break_off(agent: Agent) -> None:
    """A run that fails after two writes, of which it undid the first; nothing else is on record of what it thought."""
    start = at("11:00")
    with agent.run("refund-7", "refunder", start, start + 50 * SECOND, "RuntimeError: no such account"):
        charge = agent.tool(
            "charge",
            {"cents": 500},
            {"ok": True},
            start + SECOND,
            start + 2 * SECOND,
            attributes={"retrospan.effect": "write", "retrospan.idempotency.key": "refund-7:charge"},
        )
        agent.tool(
            "ship_label",
            {"order": "A-9"},
            {"ok": True},
            start + 3 * SECOND,
            start + 4 * SECOND,
            attributes={"retrospan.effect": "write", "retrospan.idempotency.key": "refund-7:label"},
        )
        agent.tool(
            "refund",
            {"cents": 500},
            {"ok": True},
            start + 5 * SECOND,
            start + 6 * SECOND,
            attributes={
                "retrospan.effect": "write",
                "retrospan.idempotency.key": "refund-7:refund",
                "retrospan.compensates": f"{charge.get_span_context().span_id:016x}",
            },
        )
        agent.tool("pay_out", {"cents": 500}, None, start + 9 * SECOND, start + 10 * SECOND, "RuntimeError: ")
