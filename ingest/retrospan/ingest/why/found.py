"""What rules found wrong with a run: the rows of the view findings that nothing else tells."""

from __future__ import annotations

from collections.abc import Iterator

from retrospan.ingest.row_values import text_of, whole
from retrospan.ingest.why.rows import RunRows
from retrospan.ingest.why.sentence import Basis, Quote, Sentence

#: Rules whose findings are told from the views that they rest on, and the one that only compares with earlier runs.
TOLD = ["exact_loop", "full_context", "lost_context", "odd_sequence", "repeated_failures"]
#: The severity of what has or may have done harm, and of what a run shows that failed.
HARM = "error"
#: How a finding about the answer begins: that is said last, wherever what shows it begins.
_OF_THE_ANSWER = "The answer "


def found_by_rules(rows: RunRows) -> Iterator[tuple[Sentence, float, bool]]:
    """Yield each finding with where it stands among the steps, and whether it has or may have done harm."""
    for row in rows.findings:
        step, rule, severity = whole(row, "step"), str(row["rule"]), str(row["severity"])
        explanation = (text_of(row, "explanation") or "").removesuffix(".")
        said: list[str | Quote] = [f"The rule {rule} found: ", Quote(explanation), "."]
        key = {"run_id": rows.run_id, "rule": rule, "step": step, "severity": severity}
        sentence = Sentence("finding", said, [Basis("findings", key)], step, rows.run_id)
        is_last = step is None or explanation.startswith(_OF_THE_ANSWER)
        place = float("inf") if step is None or is_last else float(step)
        yield sentence, place, severity == HARM
