"""What got worse, and what is different otherwise, by the verdicts of `drift`."""

from __future__ import annotations

from collections.abc import Iterator

from retrospan.ingest.row_values import texts_of
from retrospan.ingest.why.columns import counted
from retrospan.ingest.why.sentence import Basis, Quote, Row, Sentence, Value
from retrospan.ingest.why.sides.circumstance import number_of
from retrospan.ingest.why.sides.moment import Moment, moment_of
from retrospan.ingest.why.sides.rows import FEWEST, SideRows

#: What is worse when there is more of it, and how it is called.
METRICS = {
    "failure_rate": "Runs that fail",
    "incomplete_rate": "Runs that do not come to an end",
    "loop_rate": "Runs with a loop",
    "steps_per_run": "Steps of a run",
    "input_tokens": "Input tokens of a run",
    "output_tokens": "Output tokens of a run",
    "duration_ms": "Milliseconds that a run takes",
}
_MIXES = {"tool_mix": "The mix of tools", "tool_transitions": "Which tool follows which"}
_SHARE = "tool_share: "


def worse(rows: SideRows) -> list[Row]:
    """Return the rows of what got worse, the surest first, each metric once."""
    found: dict[str, Row] = {}
    for row in rows.drift:
        if row["drifted"] and row["metric"] in METRICS and _grown(row) > 0:
            found.setdefault(str(row["metric"]), row)
    return [*found.values()]


def verdict(rows: SideRows) -> Iterator[Sentence]:
    """Yield what got worse, or that nothing did, or that there are too few runs to tell."""
    if not rows.is_conclusive:
        yield _inconclusive(rows)
        return
    found = worse(rows)
    if not found:
        tests = counted(len(rows.drift), "test")
        said = f"Nothing got worse: of {tests} of drift none says so."
        yield Sentence("nothing", [said], [rows.basis("drift", metric=str(rows.drift[0]["metric"]))])
    for row in found:
        yield _moved(rows, row, "worse")


def otherwise(rows: SideRows) -> Iterator[Sentence]:
    """Yield what drifted and is not known to be worse."""
    told = {str(row["metric"]) for row in worse(rows)}
    for row in rows.drift:
        if row["drifted"] and row["metric"] not in told:
            told.add(str(row["metric"]))
            yield _moved(rows, row, "different")


def moments(rows: SideRows) -> Iterator[tuple[str, Moment, Sentence]]:
    """Yield since when each metric is worse, as far as its runs over time show."""
    for metric, stretches in rows.moments.items():
        found = moment_of(stretches)
        if found is None:
            continue
        length = "hour" if rows.stretch == 3_600 else "day"
        said: list[str | Quote] = [
            (
                f"{METRICS[metric]}: worse since the {length} that began {found.at[:16]}Z: "
                f"{_amount(metric, found.before)} over {counted(found.runs_before, 'run')} before it, "
                f"{_amount(metric, found.after)} over {found.runs_after:,} from then on. Run "
            ),
            Quote(found.shown_by),
            " shows it.",
        ]
        basis = _basis_of_run(metric, found.shown_by)
        yield metric, found, Sentence("moment", said, [basis], None, found.shown_by)


def _basis_of_run(metric: str, run_id: str) -> Basis:
    """Return the row of a run by which it counts for a metric."""
    where: dict[str, Value] = {"run_id": run_id}
    if metric == "loop_rate":
        return Basis("loops", where)
    return Basis("runs", {**where, "outcome": "error"} if metric == "failure_rate" else where)


def _inconclusive(rows: SideRows) -> Sentence:
    baseline, candidate = rows.sizes
    said = (
        f"INCONCLUSIVE: the candidate has {counted(candidate, 'run')}, the baseline {baseline:,}; {FEWEST} a side are "
        "needed"
    )
    lacking = [
        f"{FEWEST - size:,} more of the {side}"
        for side, size in (("candidate", candidate), ("baseline", baseline))
        if size < FEWEST
    ]
    basis = (
        rows.basis("drift", statistic="too_few_runs")
        if rows.drift
        else Basis("drift", {}, dict(rows.given), is_there=False)
    )
    return Sentence("inconclusive", [f"{said}: {' and '.join(lacking)}."], [basis])


def _moved(rows: SideRows, row: Row, kind: str) -> Sentence:
    metric = str(row["metric"])
    said: list[str | Quote] = []
    if metric.startswith(_SHARE):
        said += ["Calls of ", Quote(metric.removeprefix(_SHARE)), " among the calls of a run"]
    else:
        said.append(METRICS.get(metric) or _MIXES.get(metric) or metric)
    before, after = row["baseline_mean"], row["candidate_mean"]
    if isinstance(before, int | float) and isinstance(after, int | float):
        said.append(f": {_amount(metric, before)} before, {_amount(metric, after)} now")
    else:
        said.append(" changed")
    said.append(f" ({_test(row)})")
    examples = texts_of(row, "examples")
    for place, run_id in enumerate(examples):
        said += ["; runs that show it: " if not place else ", ", Quote(run_id)]
    basis = rows.basis("drift", metric=metric, statistic=str(row["statistic"]), drifted=True)
    return Sentence(kind, [*said, "."], [basis], None, examples[0] if examples else "")


def _test(row: Row) -> str:
    name = str(row["statistic"]).replace("_", " ")
    over = f"{number_of(row, 'baseline_n'):,} and {number_of(row, 'candidate_n'):,} runs"
    value, p, threshold = row["value"], row["p_value"], row["threshold"]
    if isinstance(p, int | float):
        return f"{name} {value:.3g}, p {p:.2g} of at most {threshold:g}, {over}"
    return f"{name} {value:.3g} of at most {threshold:.3g}, {over}"


def _amount(metric: str, value: float) -> str:
    """Return a mean in words: a share of the runs, or a number."""
    if metric.endswith("_rate") or metric.startswith(_SHARE):
        return f"{value:.1%}"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _grown(row: Row) -> float:
    before, after = row["baseline_mean"], row["candidate_mean"]
    if isinstance(before, int | float) and isinstance(after, int | float):
        return after - before
    return 0.0
