"""The questions behind `why`: first what every report needs, then only what the rows call for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from retrospan.ingest.cli.client.collector_client import Parameter
from retrospan.ingest.cli.client.session import Asked, Session
from retrospan.ingest.cli.terminal.moments import Moment
from retrospan.ingest.row_values import whole
from retrospan.ingest.why.baseline import AFTER, BEFORE, choose
from retrospan.ingest.why.culprit import culprit_of
from retrospan.ingest.why.cut_answers import EXPRESSION
from retrospan.ingest.why.found import TOLD
from retrospan.ingest.why.named_errors import BEGINNING
from retrospan.ingest.why.problems import notes_of, problems_of
from retrospan.ingest.why.prompt import longest
from retrospan.ingest.why.rows import Baseline, RunRows
from retrospan.ingest.why.sentence import Row
from retrospan.ingest.why.unknown import switches_wanted
from retrospan.schemas.errors import NotFound

#: Characters fetched of a long text, and rows of each kind.
TEXT, ROWS = 4_000, 20
#: Documents that are named for one value.
DOCUMENTS = 5
#: Characters of an input that tell how like it is to another; that it is equal its hash tells.
COMPARED = 2_000


@dataclass(slots=True)
class Gathering:
    """Asks the questions about one run. `against` is the run to compare with, if somebody named one."""

    session: Session
    run_id: str
    against: str | None = None
    is_full: bool = False

    def rows(self) -> RunRows:
        """Return all rows. Raises NotFound where the run is not there."""
        found = self._ask(*self.of_every_run()[0])
        if not found:
            raise NotFound(
                f"run {self.run_id} is not there: it was deleted or is being interpreted again. Try again."
            )
        rows = RunRows(found[0])
        # As why_missing, which is planned for longer: it finds the outcome out again.
        missing_of_run: Asked = (
            "missing_of_run",
            {"run_id": self.run_id, "outcome": str(rows.run["outcome"])},
        )
        has_peers = rows.run["agent_name"] is not None or rows.run["service_name"] is not None
        peers = self._peers(rows.run)
        failures, tools, effects, context, _, touched, cut, findings = self.of_every_run()[1:]
        has_effects, has_findings = bool(rows.run["effects_read"]), bool(rows.run["findings_read"])
        self.session.ask_ahead(*([peers] if has_peers else []), missing_of_run, failures, tools)
        self.session.ask_ahead(*([effects] if has_effects else []), context, touched, cut)
        self.session.ask_ahead(*([findings] if has_findings else []))
        rows.failures, rows.tools = self._ask(*failures), self._ask(*tools)
        rows.effects = self._ask(*effects) if has_effects else []
        rows.cut_answers = self._ask(*cut)
        rows.findings = self._ask(*findings) if has_findings else []
        missing = self._ask(*missing_of_run)
        rows.context, rows.missing = self._ask(*context), missing[0] if missing else None
        rows.peers = self._ask(*peers) if has_peers else []
        self._touched(rows)
        ids = [self.run_id, *(str(row["run_id"]) for row in rows.peers)]
        rows.signs = self._ask("why_signs", {"run_ids": ids})
        self._calls(rows)
        self._compare(rows)
        self._details(rows)
        return rows

    def of_every_run(self) -> list[Asked]:
        """Return the questions that are asked about any run."""
        run_id = {"run_id": self.run_id}
        return [
            ("why_run", {**run_id, "most": self._text}),
            ("why_failures", {**run_id, "most": self._text, "rows": self._rows}),
            ("why_tools", {**run_id, "rows": self._rows}),
            ("why_effects", {**run_id, "rows": self._rows}),
            ("why_context", {**run_id, "rows": self._rows}),
            ("why_missing", {**run_id}),
            ("why_touched", {**run_id, "rows": self._rows}),
            ("why_cut_answers", {**run_id, "expression": EXPRESSION, "rows": self._rows}),
            ("why_findings", {**run_id, "told": TOLD, "rows": self._rows}),
        ]

    @property
    def _text(self) -> int:
        return 0 if self.is_full else TEXT

    @property
    def _rows(self) -> int:
        return 1_000 if self.is_full else ROWS

    def _ask(self, question: str, parameters: Mapping[str, Parameter]) -> list[Row]:
        asked = self.session.ask(question, **parameters)
        return [{name: _plain(value) for name, value in row.items()} for row in asked]

    def _peers(self, run: Row) -> Asked:
        started = str(run["started_at"])
        return (
            "why_peers",
            {
                "run_id": self.run_id,
                "agent": str(run["agent_name"] or ""),
                "service": str(run["service_name"] or ""),
                "input": str(run["input"] or "")[:COMPARED],
                "input_hash": str(run["input_hash"] or ""),
                "started_at": started.replace("T", " ").rstrip("Z"),
                "before": BEFORE,
                "after": AFTER,
            },
        )

    def _touched(self, rows: RunRows) -> None:
        """Ask what was out of date only of a run that says which entities it used."""
        rows.touched = self._ask(*self.of_every_run()[6])
        if any(str(row["object"]).startswith(("entity:", "observation:")) for row in rows.touched):
            rows.stale = self._ask("why_stale", {"run_id": self.run_id, "rows": self._rows})
        if rows.context:
            ordinals = [whole(row, "model_call") or 0 for row in rows.context]
            places = self._ask("why_places", {"run_id": self.run_id, "ordinals": ordinals})
            rows.places = {whole(row, "ordinal") or 0: whole(row, "step") or 0 for row in places}

    def _calls(self, rows: RunRows) -> None:
        """Ask for the calls that went wrong, and the first and last of those that are alike."""
        alike = [group for group in rows.tools if group["kind"] != "status"]
        ordinals = [whole(group, name) or 0 for group in alike for name in ("first_ordinal", "last_ordinal")]
        ordinals += [whole(row, "tool_call") or 0 for row in rows.effects]
        if (group := longest(rows)) is not None:
            ordinals.append(whole(group, "longest_ordinal") or 0)
        if rows.groups("status"):
            asked = sorted(set(ordinals) - {0})[: 4 * self._rows]
            rows.calls = self._ask(
                "why_calls",
                {
                    "run_id": self.run_id,
                    "ordinals": asked,
                    "beginning": BEGINNING,
                    "most": self._text,
                    "rows": 4 * self._rows,
                },
            )

    def _compare(self, rows: RunRows) -> None:
        if self.against is not None:
            rows.baseline = Baseline(self.against, "which --against names", is_chosen=False)
        else:
            rows.baseline = choose(rows)
        if rows.baseline is not None and rows.baseline.is_equal:
            found = self._ask("divergence", {"a": rows.baseline.run_id, "b": self.run_id})
            rows.divergence = found[0] if found else None

    def _details(self, rows: RunRows) -> None:
        """Ask for what the first problem calls for."""
        problems = problems_of(rows)
        culprit = culprit_of([*problems, *notes_of(rows)])
        if culprit is not None:
            found = self._ask(
                "why_origin",
                {"run_id": self.run_id, "value": culprit.written, "expression": culprit.pattern},
            )
            rows.origin = found[0] if found else None
            if culprit.step is not None:
                asked: dict[str, Parameter] = {
                    "run_id": self.run_id,
                    "step": culprit.step,
                    "role": culprit.role,
                }
                rows.documents = self._ask("why_documents", {**asked, "rows": DOCUMENTS})
        first = next((each.failure for each in problems if each.failure is not None), None)
        if longest(rows) is not None or (first is not None and first.get("class") == "architectural"):
            last = whole(rows.run, "model_calls") or 0
            rows.prompt = self._ask("why_prompt", {"run_id": self.run_id, "model_call": last, "rows": 1})
        if rows.run["problems"]:
            found = self._ask("first_problem", {"run_id": self.run_id})
            rows.problem = found[0] if found else None
        wanted = switches_wanted(rows)
        if wanted:
            # Imported here: the dialects, with what they read.
            from retrospan.ingest.interpret.dialects.switches import switch_for

            dialects = rows.run["dialects"]
            scopes = [(str(name), "") for name in dialects] if isinstance(dialects, list) else []
            rows.switches = {layer: switch_for(layer, scopes) for layer in wanted}  # type: ignore[arg-type]


def _plain(value: object) -> object:
    return value.rfc3339() if isinstance(value, Moment) else value
