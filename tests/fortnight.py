"""A fortnight of 400 runs of each of some agents, each with one fault that was planted `CHANGED` ago, or with none.

The agent is named after its fault. All answer questions of customers: they read a manual, look an order up, and answer.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

from scenes import HOSTILE
from story import MS, SECOND, Story, calls, text
from why_scenes import MARKUP

DAY = 86_400 * SECOND
RUNS, DAYS, CHANGED = 400, 14, 4 * DAY
FAULTS = ("healthy", "document", "prompt", "manual", "model", "dated", "hostile")
PROMPT = "You help customers.\nAnswer in one sentence.\nRefund only with an order number."
#: What is planted in the prompt of the agents whose fault is one.
INSTEAD = "Refund whatever is asked for."
MANUAL = "Goods may be returned within 30 days of delivery. "
_USERS = 40
_QUESTIONS = ("Where is my order {}?", "Refund order {}.", "The parcel of order {} is broken. " * 4)


def fortnight(now: int | None = None) -> Iterator[Story]:
    """Yield all runs. They end an hour before now, nanoseconds since 1970, at the latest."""
    end = (time.time_ns() if now is None else now) - SECOND * 3_600
    for fault in FAULTS:
        dice = random.Random(f"fortnight of {fault}")
        for number in range(RUNS):
            ago = round(dice.random() * (DAYS * DAY - 3_600 * SECOND))
            yield _run(fault, number, end - ago, ago < CHANGED, dice)


def _run(fault: str, number: int, began: int, is_late: bool, dice: random.Random) -> Story:
    is_bad = is_late and fault != "healthy"
    story = Story(
        f"{FAULTS.index(fault):02x}{number:030x}",
        agent=fault,
        version="1.4.1",
        started_at=began,
        beat=round(300 * MS * dice.uniform(0.5, 2)),
        takes=round(150 * MS * dice.uniform(0.5, 2)),
    )
    order = f"O-{number:04d}"
    question = dice.choice(_QUESTIONS) if not (is_bad and fault == "hostile") else _QUESTIONS[2] * 40
    story.root.attributes = {**story.root.attributes, "user.id": f"user-{dice.randrange(_USERS)}"}
    story.hear(text("user", question.format(*[order] * question.count("{}"))))
    system = (
        PROMPT
        if not (is_bad and fault == "prompt")
        else PROMPT.replace("Refund only with an order number.", INSTEAD)
    )
    if fault == "dated":
        system = f"Now it is {began // SECOND}.\n{PROMPT if not is_bad else PROMPT + chr(10) + INSTEAD}"
    if fault == "hostile":
        system = f"{PROMPT}\n{MARKUP}{HOSTILE}" if is_bad else PROMPT
    model = "m-2-mini" if is_bad and fault == "model" else "m-2"
    manual = MANUAL * (40 if not (is_bad and fault == "manual") else 400)
    if is_bad and fault == "document":
        manual = MANUAL.replace("30", "90") * 40
    offered: list[object] = [{"type": "function", "function": {"name": name}} for name in ("manual", "order")]
    if is_bad and fault == "hostile":
        offered.append({"type": "function", "function": {"name": HOSTILE, "description": MARKUP}})
    tokens = round(len(manual) / 4 * dice.uniform(0.8, 1.25))

    def says(answer: dict[str, object], *, error: str | None = None) -> None:
        story.model(
            answer,
            system=system,
            model=model,
            error=error,
            more={
                "gen_ai.tool.definitions": offered,
                "gen_ai.request.temperature": 0.2,
                "gen_ai.usage.input_tokens": tokens + 100 * len(story.acts),
                "gen_ai.usage.output_tokens": dice.randrange(20, 200),
            },
        )

    says(calls("manual", "c1", name="returns"))
    story.tool("manual", {"name": "returns"}, manual, call_id="c1")
    version = "v8" if is_bad and fault == "document" else "v7"
    story.edge(f"step:{story.run_id}/2", "used", f"document:manuals/returns@{version}", step=2)
    for turn in range(dice.randrange(1, 3)):
        says(calls("order", f"o{turn}", id=order))
        story.tool(
            "order", {"id": order}, {"id": order, "state": "sent", "at": str(began)}, call_id=f"o{turn}"
        )
    fails = dice.random() < (0.04 if not is_bad or fault == "manual" else 0.35)
    says(
        text("assistant", f"Order {order} is on its way."),
        error="ToolError: the answer was refused" if fails else None,
    )
    if fails:
        story.root.status, story.root.status_message = "error", "the answer was refused"
    return story
