"""Where a run's provenance leaves the run: things that other runs may name too."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import unquote

from retrospan.schemas.references import run_ref, step_ref

#: Kinds of things that are the same in every run. A message is its run's own, a step names its run.
SHARED = ("output", "observation", "entity", "document", "span")


def crossings_of(run_id: str, edges: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return (reference, side) of every shared thing that edges (subject, object) of a run name, each once.

    The side `subject` says that the thing came from this run, `object` that this run took it. Another run's step stands
    for that run.
    """
    found: dict[tuple[str, str], None] = {}
    own = step_ref(run_id, 0)[:-1]
    for subject, thing in edges:
        for side, reference in (("subject", subject), ("object", thing)):
            if reference.startswith("message:"):
                continue  # as most are
            if reference.startswith(own) and "/" not in reference[len(own) :]:
                continue  # and most others
            kind, _, rest = reference.partition(":")
            if kind in SHARED or kind == "run":
                found[(reference, side)] = None
            elif kind == "step":
                other = unquote(rest.rpartition("/")[0])
                if other != run_id:
                    found[(run_ref(other), side)] = None
    return list(found)
