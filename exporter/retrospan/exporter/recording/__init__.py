"""Recording: what an agent states about itself, one line each, on the current span.

`run`, `step` and `effect` open spans: context managers and decorators, for plain, async and generator
functions. The others add to the current span, whoever opened it. Without an OpenTelemetry SDK all of them do
nothing, at little cost. None raises into the agent.
"""

from retrospan.exporter.recording.determinism import deterministic
from retrospan.exporter.recording.effects import Effect, effect, idempotency_key
from retrospan.exporter.recording.encoding import json_text, limit_values
from retrospan.exporter.recording.events import (
    approve,
    checkpoint,
    compaction,
    correct,
    decide,
    derive,
    observe,
    output,
    use,
)
from retrospan.exporter.recording.lineage import RunReference
from retrospan.exporter.recording.runs import Run, current_run, run
from retrospan.exporter.recording.scopes import carrier, joined
from retrospan.exporter.recording.states import state
from retrospan.exporter.recording.steps import Step, step

__all__ = [
    "Effect",
    "Run",
    "RunReference",
    "Step",
    "approve",
    "carrier",
    "checkpoint",
    "compaction",
    "correct",
    "current_run",
    "decide",
    "derive",
    "deterministic",
    "effect",
    "idempotency_key",
    "joined",
    "json_text",
    "limit_values",
    "observe",
    "output",
    "run",
    "state",
    "step",
    "use",
]
