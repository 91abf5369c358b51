"""The things that a walk reached, in a few words."""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import unquote

from retrospan.ingest.answer.computed.edges import Node, step_number
from retrospan.ingest.answer.computed.lookups import Lookups, of_runs
from retrospan.ingest.answer.computed.walked_runs import WalkedRuns
from retrospan.schemas.references import message_ref, run_ref, step_ref


def labels_of(lookups: Lookups, runs: WalkedRuns, nodes: Collection[Node]) -> dict[Node, str]:
    """Return the words for the nodes that have any."""
    labels: dict[Node, str] = {}
    generations, of_a_run = _generations(lookups, runs, nodes)
    labels |= of_a_run
    within = of_runs(sorted(generations), sorted(set(generations.values())))
    numbers = {step_number(reference) for run, reference in nodes if run and _is(reference, "step")}
    steps = [number for number in numbers if number is not None]
    if steps and generations:
        for run_id, generation, step, label in lookups.rows(
            "label_steps", {**within, "steps": sorted(steps)}
        ):
            if generations.get(run_id) == generation:
                labels[run_id, step_ref(run_id, step)] = label
    hashes = {reference.partition(":")[2] for _, reference in nodes if _is(reference, "message")}
    if hashes and generations:
        for run_id, generation, hash_, label in lookups.rows(
            "label_messages", {**within, "hashes": sorted(hashes)}
        ):
            if generations.get(run_id) == generation:
                labels[run_id, message_ref(hash_)] = label
    observations = {
        unquote(reference.partition(":")[2], errors="surrogateescape"): reference
        for _, reference in nodes
        if _is(reference, "observation")
    }
    if observations:
        for observation_id, label in lookups.rows(
            "label_observations", {"observations": sorted(observations)}
        ):
            labels["", observations[observation_id]] = label
    return labels


def _generations(
    lookups: Lookups, runs: WalkedRuns, nodes: Collection[Node]
) -> tuple[dict[str, int], dict[Node, str]]:
    """Return the generations of the runs of these nodes, and the words for those that are runs themselves."""
    generations: dict[str, int] = {}
    labels: dict[Node, str] = {}
    unknown: list[str] = []
    for run_id in sorted({run_id for run_id, _ in nodes if run_id}):
        run = runs.entered.get(run_id)
        if run is None:
            unknown.append(run_id)
        else:
            generations[run_id] = run.generation
            labels[run_id, run_ref(run_id)] = run.label
    for row in lookups.rows("find_runs", {"run_ids": unknown}) if unknown else []:
        generations[row[1]] = row[2]
        labels[row[1], run_ref(row[1])] = row[-1]
    return generations, labels


def _is(reference: str, kind: str) -> bool:
    return reference.startswith(f"{kind}:")
