"""Runs of two versions that were asked the same: the second is told otherwise by its tool, now and then.

An evaluator says how relevant each answer is, and of few that it was checked.
"""

from __future__ import annotations

from collections.abc import Iterator

from story import SECOND, START, Story, calls, text

#: Runs of each version but the last, which has few.
RUNS, FEW = 40, 5


def pairs_of_versions() -> Iterator[Story]:
    """Yield runs of version 1 and of 2, whose tool gives another result in two of three, and few of 3."""
    for number in range(RUNS):
        yield _run("1", number)
        yield _run("2", number, found="sold out" if number % 3 else "in stock")
    for number in range(FEW):
        yield _run("3", number)
    yield _run("2", RUNS, asked="something that nobody else asked")


def _run(version: str, number: int, found: str = "in stock", asked: str = "") -> Story:
    story = Story(f"run-{version}-{number:04d}", version=version, started_at=START + number * 60 * SECOND)
    story.hear(text("user", asked or f"ship order {number % 4}?"))
    story.model(calls("search", q="order"))
    story.tool("search", {"q": "order"}, found)
    # One in twelve decides otherwise, whatever it was told.
    story.model(
        text("assistant", "No." if number % 12 == 0 else "Yes." if found == "in stock" else "Sold out.")
    )
    for name, result in (("relevance", 0.9 if found == "in stock" else 0.4), ("checked", 1.0)):
        if name != "checked" or number < FEW:
            told = {"gen_ai.evaluation.name": name, "gen_ai.evaluation.score.value": result}
            story.event("gen_ai.evaluation.result", 3, told)
    return story
