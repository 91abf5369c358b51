"""Where a run leaves the way of the good run that it is compared with, and what made it."""

from __future__ import annotations

from collections.abc import Iterator

from retrospan.ingest.row_values import text_of, whole
from retrospan.ingest.why.baseline import how_chosen
from retrospan.ingest.why.rows import Baseline, RunRows
from retrospan.ingest.why.sentence import Basis, Quote, Row, Sentence

#: What each cause of `run_divergence` means.
CAUSES = {
    "patch": "one is a fork of the other, which was changed there",
    "input": "the user's input or the start state differs",
    "code": "another version of the agent or service",
    "model": "another model, or other parameters",
    "prompt": "other instructions or tool definitions",
    "tool_result": "an equal call gave another result",
    "sampling": "the same request, another answer",
    "order": "the same calls in another order",
    "unknown": "the recorded data does not show it",
}


def parting(rows: RunRows) -> tuple[Sentence, float] | None:
    """Return why the run left the way of the good one, and its step there, or what lies before it.

    None where it did not, or was asked something else.
    """
    row = rows.divergence
    if row is None or row["identical"] or not row["cause"] or row["cause"] == "input":
        return None
    if row["step_a"] is None and row["step_b"] is None:
        return None
    step, other = whole(row, "step_b"), whole(row, "step_a")
    # What it left out is the first difference: until then both counted alike.
    place = float(step) if step is not None else (other or 0) - 0.5
    return _parting(rows, row), place


def comparison(rows: RunRows) -> Iterator[Sentence]:
    """Yield what the run is compared with, and what the comparison says but for where they part."""
    yield how_chosen(rows, rows.baseline)
    row, baseline = rows.divergence, rows.baseline
    if baseline is None:
        return
    if not baseline.is_equal:
        said = "It was not asked the same, so their steps are not compared here; retrospan diff does."
        rests = [Basis("runs", {"run_id": run_id}) for run_id in (rows.run_id, baseline.run_id)]
        yield Sentence("not_compared", [said], rests, None, rows.run_id)
        return
    if row is None:
        said = "Nothing is known of how they differ: one of them was deleted, or is being interpreted again."
        yield Sentence(
            "compared", [said], [Basis("run_divergence", {}, _given(rows, baseline), is_there=False)]
        )
        return
    basis = Basis("run_divergence", {"cause": text_of(row, "cause")}, _given(rows, baseline))
    if row["identical"]:
        yield Sentence("compared", ["It did the same as that run, step by step."], [basis], None, rows.run_id)
    elif row["cause"] == "input":
        said = (
            f"They part from the start: {CAUSES['input']}. What follows from that is not counted as a fault."
        )
        yield Sentence("compared", [said], [basis], whole(row, "step_b"), rows.run_id)
    elif parting(rows) is None:  # else it is among what went wrong, or stands out
        how = {
            "a": "It did the same as that run, and went on from where that one stops.",
            "b": "It did the same as that run as far as it goes, and stops where that one goes on.",
        }
        said = how.get(str(row["prefix"]), "No step of them is on record as different.")
        yield Sentence("compared", [said], [basis], None, rows.run_id)


def _given(rows: RunRows, baseline: Baseline) -> dict[str, str]:
    return {"a": baseline.run_id, "b": rows.run_id}


def _parting(rows: RunRows, row: Row) -> Sentence:
    assert rows.baseline is not None, "what was compared has a baseline"
    cause, step, other = str(row["cause"]), whole(row, "step_b"), whole(row, "step_a")
    good, aspect = Quote(rows.baseline.run_id), row["aspect"] or "the step"
    ours, theirs = text_of(row, "value_b"), text_of(row, "value_a")
    said: list[str | Quote]
    if step is None:
        said = ["It left out what the good run ", good, f" did at its step {other}: ", _value(theirs)]
    elif other is None:
        said = [f"At step {step} it did what the good run ", good, " did not do there: ", _value(ours)]
    else:
        said = [f"At step {step} it did something else than the good run ", good]
        said.append(f" at its step {other}: {aspect} differs")
        if ours is not None or theirs is not None:
            said += [", ", _value(ours), " instead of ", _value(theirs)]
    said.append(f". Cause: {cause}, {CAUSES.get(cause, 'see docs/semantics.md')}.")
    basis = Basis(
        "run_divergence",
        {"cause": cause, "step_a": other, "step_b": step},
        _given(rows, rows.baseline),
    )
    return Sentence("divergence", said, [basis], step, rows.run_id)


def _value(text: str | None) -> str | Quote:
    return "nothing" if text is None else Quote(text)
