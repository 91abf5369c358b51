"""The doubts of made runs, and a run of which nothing is doubted."""

from __future__ import annotations

from made_runs import agent, asks, chat, returned, rows, said, tool

from retrospan.ingest.interpret.spans.span import Span

ASKED = said("user", "How is Oslo?")
OSLO = {"city": "Oslo"}
SNOW = "It snows in Oslo, and it is three below zero."


def doubts(*spans: Span) -> list[tuple[str, str]]:
    """Return field and reason of each problem; the run's row has their number."""
    found = rows(*spans)
    assert found.runs[0].problems == len(found.problems)
    return [(problem.field, problem.reason) for problem in found.problems]


def one_doubt(*spans: Span) -> tuple[str, str]:
    (found,) = doubts(*spans)
    return found


def weather() -> list[Span]:
    """A whole run: asked, executed, answered."""
    call = asks("weather", OSLO, "c1")
    return [
        agent(),
        chat(1, [ASKED], call, gen_ai__response__finish_reasons=["tool_calls"]),
        tool(3, "weather", OSLO, "snow", gen_ai__tool__call__id="c1"),
        chat(5, [ASKED, said("assistant", call), returned("c1", "snow")], SNOW),
    ]
