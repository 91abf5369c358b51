"""The link from a replayed or forked run to its original, on the first span of its trace, whoever opens that span."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from retrospan.schemas.attributes import FORK_PATCH, FORK_STEP

_SDK = "opentelemetry.sdk.trace"


class Descent(NamedTuple):
    """From which run, in which way, and for a fork at which step and with what changed."""

    kind: str
    run_id: str
    step: int | None = None
    patch: Mapping[str, object] = MappingProxyType({})

    def told(self) -> dict[str, object]:
        return {**self._asdict(), "patch": dict(self.patch)}


def mark_runs(descent: Descent) -> None:
    """Link every span that begins a trace to the run, from now on."""
    if _SDK in sys.modules:
        _mark(descent)
    else:
        # Here: whoever only says of which descent a run is needs no hooks.
        from retrospan.exporter.hooks.watch import when_imported

        when_imported(_SDK, lambda: _mark(descent))


def _mark(descent: Descent) -> None:
    def start(original: Any, tracer: Any, *args: Any, **named: Any) -> Any:
        span = original(tracer, *args, **named)
        if getattr(span, "parent", None) is None and span.is_recording():
            _say(span, descent)
        return span

    from retrospan.exporter.replay.patches import patch

    patch(sys.modules[_SDK].Tracer, "start_span", start)


def _say(span: Any, descent: Descent) -> None:
    # It loads OpenTelemetry, which is there by now.
    from retrospan.exporter.recording.lineage import RunReference, link

    link(span, descent.kind, RunReference(descent.run_id, descent.run_id))
    if descent.step is not None:
        span.set_attribute(FORK_STEP, descent.step)
    if descent.patch:
        span.set_attribute(FORK_PATCH, json.dumps(dict(descent.patch), ensure_ascii=False))
