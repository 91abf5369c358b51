"""Executions have ids of their own, whatever the program does with its random numbers and however its process was forked."""

from __future__ import annotations

import pytest
from exporter.programs import SPAN, agent, finished
from exporter.receiver import Receiver

NEW = "from retrospan.exporter import instrument\nmade = instrument()\n"
EXISTING = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
trace.set_tracer_provider(TracerProvider())
"""
SEEDED = "import random\nrandom.seed(42)\n"


def ids(receiver: Receiver) -> list[tuple[bytes, bytes]]:
    return [(span.trace_id, span.span_id) for span in receiver.spans()]


@pytest.mark.parametrize("provider", ["", EXISTING], ids=["our provider", "an existing one"])
def test_a_program_with_a_fixed_seed_draws_other_ids_each_time(receiver: Receiver, provider: str) -> None:
    for _ in range(2):
        finished(
            agent(SPAN + SEEDED + provider + NEW + SEEDED + 'span("work")\nprint(random.random())', receiver)
        )
    (first, one), (second, other) = ids(receiver)
    assert first != second and one != other


def test_the_numbers_of_a_program_with_a_fixed_seed_stay_what_they_are(receiver: Receiver) -> None:
    told = SEEDED + 'span("work")\nprint(random.random())'
    out, _ = finished(agent(SPAN + NEW + told, receiver))
    assert out == "0.6394267984578837\n"


def test_a_generator_of_ids_that_the_program_chose_is_kept(receiver: Receiver) -> None:
    code = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.id_generator import IdGenerator
class Own(IdGenerator):
    def generate_span_id(self): return 7
    def generate_trace_id(self): return 8
trace.set_tracer_provider(TracerProvider(id_generator=Own()))
"""
    finished(agent(SPAN + code + NEW + 'span("work")', receiver))
    assert ids(receiver) == [((8).to_bytes(16, "big"), (7).to_bytes(8, "big"))]
