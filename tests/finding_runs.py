"""An agent for runs that are told for findings: it is asked, calls tools one by one, and answers."""

from __future__ import annotations

import random
from collections.abc import Mapping

from story import SECOND, START, Story, calls, text

from retrospan.schemas import semconv

DAY = 86_400 * SECOND
RUNS, DAYS = 400, 14


class Run(Story):
    """An agent that is asked, calls tools one by one, and answers."""

    def __init__(self, number: int, asked: str, *, agent: str = "orla") -> None:
        begin = START + number * (DAYS * DAY // RUNS)
        super().__init__(f"{number:032x}", started_at=begin, agent=agent)
        self.chance = random.Random(number)
        self.tokens = 900
        self.hear(text("user", asked))

    def does(
        self, tool: str, arguments: object, result: object = None, *, error: str = "", **said: object
    ) -> None:
        """Let the model ask for a tool, which returns or fails."""
        self.tokens += 120
        call_id = f"c{len(self.acts)}"
        more: dict[str, object] = {semconv.USAGE_INPUT_TOKENS: self.tokens}
        given = arguments if isinstance(arguments, dict) else {}
        self.model(calls(tool, call_id, **given), more=more)
        told = {f"retrospan.{key.replace('__', '.')}": value for key, value in said.items()}
        self.tool(tool, arguments, result, call_id=call_id, error=error or None, more=told)
        if error:
            self.hear(text("user", f"The tool failed: {error}"))

    def says(self, answer: str, *, more: Mapping[str, object] | None = None) -> Run:
        """Let the model answer."""
        self.tokens += 60
        self.model(text("assistant", answer), more={semconv.USAGE_INPUT_TOKENS: self.tokens, **(more or {})})
        return self

    def fails(self, message: str) -> Run:
        """Let the run fail."""
        self.model(None, error=f"ContextError: {message}")
        self.root.status, self.root.status_message = "error", message
        return self


def order(run: Run) -> dict[str, object]:
    """Return an order as a tool returns it."""
    number = run.chance.randrange(1000, 9999)
    return {
        "order_id": f"ORD-{number}",
        "order_total": round(run.chance.uniform(20, 900), 2),
        "currency": "EUR",
        "delivery_date": f"2026-06-{run.chance.randrange(10, 28)}",
        "weight_grams": run.chance.randrange(200, 9000),
    }
