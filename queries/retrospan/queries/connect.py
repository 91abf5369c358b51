"""The Python interface: one method per view and question, each returning a DataFrame.

    from retrospan.queries import connect
    warehouse = connect()
    warehouse.runs(limit=10)
    warehouse.run_state("4bf92f3577b34da6a3ce929d0e0e4736", step=3)

Frames are polars, or pandas with `connect(pandas=True)`; neither is loaded before the first answer. Values
travel as query parameters, never inside the statement. `Views` hold no connection: share them freely.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Literal, TypeVar, overload

from retrospan.queries.client import Client, client_of
from retrospan.queries.cost_views import CostViews
from retrospan.queries.finding_views import FindingViews
from retrospan.queries.frames import Ask, pandas_frame, polars_frame
from retrospan.queries.side_views import SideViews
from retrospan.schemas.literals import Value

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

Frame = TypeVar("Frame")

#: Filters are put together from these fixed pieces: column and value are both parameters.
_FILTERS = tuple("{column_N:Identifier} = {value_N:String}".replace("N", str(number)) for number in range(4))


@overload
def connect(
    url: str | None = None,
    *,
    pandas: Literal[False] = False,
    timeout: float = 300.0,
    token: str | None = None,
) -> Views[pl.DataFrame]: ...
@overload
def connect(
    url: str | None = None, *, pandas: Literal[True], timeout: float = 300.0, token: str | None = None
) -> Views[pd.DataFrame]: ...
def connect(
    url: str | None = None, *, pandas: bool = False, timeout: float = 300.0, token: str | None = None
) -> Views[pl.DataFrame] | Views[pd.DataFrame]:
    """Name the collector to query. Nothing is sent before the first query.

    Args:
        url: its SQL port; without it RETROSPAN_URL, else this machine's.
        pandas: return pandas DataFrames.
        timeout: seconds to wait for an answer.
        token: what the collector asks for, if it does; without it RETROSPAN_TOKEN. For https:// the authorities
            of RETROSPAN_CA are trusted, else the system's.

    Raises:
        ConfigError: the URL or the token cannot be one, a file of certificates cannot be used.
    """
    client = client_of(url, timeout, token)
    return Views(client, pandas_frame) if pandas else Views(client, polars_frame)


class Views(CostViews[Frame], FindingViews[Frame], SideViews[Frame]):
    """The questions. Each method raises SqlError when the query is refused, CollectorUnreachable without an answer.

    Lists take exact values of columns as filters, and `limit`, the greatest number of rows.
    """

    def __init__(self, client: Client, frame: Callable[[Ask], Frame]) -> None:
        self._client = client
        self._frame = frame

    def sql(self, query: str, /, **parameters: Value) -> Frame:
        """Run any read-only SQL; `{name:Type}` in it is bound to the argument of that name."""
        return self._frame(lambda strings: self._client.ask(query, parameters, strings))

    def runs(
        self,
        *,
        run_id: str | None = None,
        agent_name: str | None = None,
        outcome: str | None = None,
        conversation_id: str | None = None,
        limit: int | None = None,
    ) -> Frame:
        """Return runs, the latest first."""
        filters = {
            "run_id": run_id,
            "agent_name": agent_name,
            "outcome": outcome,
            "conversation_id": conversation_id,
        }
        return self._list("SELECT * FROM runs", filters, "ORDER BY started_at DESC, run_id", limit)

    def spans(
        self,
        *,
        run_id: str | None = None,
        trace_id: str | None = None,
        span_id: str | None = None,
        limit: int | None = None,
    ) -> Frame:
        """Return spans as they were sent, by start."""
        filters = {"run_id": run_id, "trace_id": trace_id, "span_id": span_id}
        return self._list("SELECT * FROM spans", filters, "ORDER BY started_at, span_id", limit)

    def span_arrivals(
        self, *, trace_id: str | None = None, dialect: str | None = None, limit: int | None = None
    ) -> Frame:
        """Return how many spans of each trace arrived when, by the instrumentation that wrote them."""
        filters = {"trace_id": trace_id, "dialect": dialect}
        return self._list(
            "SELECT * FROM span_arrivals", filters, "ORDER BY ingested_at, trace_id, dialect", limit
        )

    def spans_as_sent(
        self, *, trace_id: str | None = None, span_id: str | None = None, limit: int | None = None
    ) -> Frame:
        """Return spans without what interpretation adds, by start."""
        filters = {"trace_id": trace_id, "span_id": span_id}
        return self._list("SELECT * FROM spans_as_sent", filters, "ORDER BY started_at, span_id", limit)

    def model_calls(self, *, run_id: str | None = None, limit: int | None = None) -> Frame:
        """Return model calls, in order within their run."""
        return self._list("SELECT * FROM model_calls", {"run_id": run_id}, "ORDER BY run_id, ordinal", limit)

    def tool_calls(
        self, *, run_id: str | None = None, tool_name: str | None = None, limit: int | None = None
    ) -> Frame:
        """Return tool executions, and requested calls that were not executed, in order within their run."""
        filters = {"run_id": run_id, "tool_name": tool_name}
        return self._list("SELECT * FROM tool_calls", filters, "ORDER BY run_id, ordinal", limit)

    def messages(
        self, *, run_id: str | None = None, role: str | None = None, limit: int | None = None
    ) -> Frame:
        """Return messages of the model calls' inputs and outputs, in order."""
        filters = {"run_id": run_id, "role": role}
        order = "ORDER BY run_id, model_call, direction, position"
        return self._list("SELECT * FROM messages", filters, order, limit)

    def steps(self, *, run_id: str | None = None, limit: int | None = None) -> Frame:
        """Return steps, in order within their run."""
        return self._list("SELECT * FROM steps", {"run_id": run_id}, "ORDER BY run_id, step", limit)

    def texts(
        self,
        *,
        run_id: str | None = None,
        kind: str | None = None,
        role: str | None = None,
        tool_name: str | None = None,
        limit: int | None = None,
    ) -> Frame:
        """Return messages, arguments, results and errors, each where it was first said, by time."""
        filters = {"run_id": run_id, "kind": kind, "role": role, "tool_name": tool_name}
        return self._list("SELECT * FROM texts", filters, "ORDER BY at, run_id, step, kind, text", limit)

    def agents(self, *, run_id: str | None = None, limit: int | None = None) -> Frame:
        """Return the agents of runs and what each did itself."""
        return self._list("SELECT * FROM agents", {"run_id": run_id}, "ORDER BY run_id, agent_name", limit)

    def provenance_edges(
        self,
        *,
        run_id: str | None = None,
        subject: str | None = None,
        object: str | None = None,
        limit: int | None = None,
    ) -> Frame:
        """Return provenance edges: what used, generated or informed what."""
        filters = {"run_id": run_id, "subject": subject, "object": object}
        order = "ORDER BY run_id, step, subject, relation, object"
        return self._list("SELECT * FROM provenance_edges", filters, order, limit)

    def context_use(self, *, run_id: str | None = None, limit: int | None = None) -> Frame:
        """Return what each model call's prompt holds, and what it lost since the previous call, in order."""
        filters = {"run_id": run_id}
        return self._list("SELECT * FROM context_use", filters, "ORDER BY run_id, model_call", limit)

    def failures(
        self, *, run_id: str | None = None, origin: str | None = None, limit: int | None = None
    ) -> Frame:
        """Return errors, each once and where it began, by time."""
        filters = {"run_id": run_id, "origin": origin}
        return self._list("SELECT * FROM failures", filters, "ORDER BY at, run_id, span_id", limit)

    def retries(
        self, *, run_id: str | None = None, tool_name: str | None = None, limit: int | None = None
    ) -> Frame:
        """Return attempts at what was tried more than once, linked by the step of the first."""
        filters = {"run_id": run_id, "tool_name": tool_name}
        return self._list("SELECT * FROM retries", filters, "ORDER BY run_id, of_step, step", limit)

    def observations(
        self,
        *,
        entity_type: str | None = None,
        entity_id: str | None = None,
        field: str | None = None,
        run_id: str | None = None,
        limit: int | None = None,
    ) -> Frame:
        """Return statements about fields of entities, by the time from which they hold."""
        filters = {"entity_type": entity_type, "entity_id": entity_id, "field": field, "run_id": run_id}
        order = "ORDER BY valid_from, known_from, observation_id, field"
        return self._list("SELECT * FROM observations", filters, order, limit)

    def entity_timeline(
        self,
        *,
        entity_type: str | None = None,
        entity_id: str | None = None,
        field: str | None = None,
        run_id: str | None = None,
        limit: int | None = None,
    ) -> Frame:
        """Return changes of the values of entities' fields, by time."""
        filters = {"entity_type": entity_type, "entity_id": entity_id, "field": field, "run_id": run_id}
        return self._list("SELECT * FROM entity_timeline", filters, "ORDER BY at, field", limit)

    def overwrites(
        self,
        *,
        entity_type: str | None = None,
        entity_id: str | None = None,
        run_id: str | None = None,
        limit: int | None = None,
    ) -> Frame:
        """Return values of another run that a run replaced, by time."""
        filters = {"entity_type": entity_type, "entity_id": entity_id, "run_id": run_id}
        return self._list("SELECT * FROM overwrites", filters, "ORDER BY at, field", limit)

    def stale_reads(
        self,
        *,
        entity_type: str | None = None,
        entity_id: str | None = None,
        run_id: str | None = None,
        limit: int | None = None,
    ) -> Frame:
        """Return uses of values that other runs later overwrote, by the time of reading."""
        filters = {"entity_type": entity_type, "entity_id": entity_id, "run_id": run_id}
        return self._list("SELECT * FROM stale_reads", filters, "ORDER BY read_at, run_id, field", limit)

    def decisions(self, *, run_id: str | None = None, limit: int | None = None) -> Frame:
        """Return decisions that agents stated, by time."""
        return self._list("SELECT * FROM decisions", {"run_id": run_id}, "ORDER BY at, run_id", limit)

    def effects(
        self, *, run_id: str | None = None, problem: str | None = None, limit: int | None = None
    ) -> Frame:
        """Return calls that state their effect on the world, with any problems, by time."""
        filters = {"run_id": run_id, "problem": problem}
        return self._list("SELECT * FROM effects", filters, "ORDER BY at, run_id, span_id", limit)

    def checkpoints(
        self, *, run_id: str | None = None, conversation_id: str | None = None, limit: int | None = None
    ) -> Frame:
        """Return points that runs can be resumed from, by time."""
        filters = {"run_id": run_id, "conversation_id": conversation_id}
        return self._list("SELECT * FROM checkpoints", filters, "ORDER BY at, checkpoint_id", limit)

    def approvals(self, *, run_id: str | None = None, limit: int | None = None) -> Frame:
        """Return people's decisions about acts of agents, by time."""
        return self._list("SELECT * FROM approvals", {"run_id": run_id}, "ORDER BY at, run_id", limit)

    def evaluations(
        self, *, run_id: str | None = None, name: str | None = None, limit: int | None = None
    ) -> Frame:
        """Return results of evaluators, by time."""
        filters = {"run_id": run_id, "name": name}
        return self._list("SELECT * FROM evaluations", filters, "ORDER BY at, run_id, span_id, name", limit)

    def run_scores(
        self, *, run_id: str | None = None, name: str | None = None, limit: int | None = None
    ) -> Frame:
        """Return what evaluators said of runs in all, one row per run and name."""
        filters = {"run_id": run_id, "name": name}
        return self._list("SELECT * FROM run_scores", filters, "ORDER BY run_id, name", limit)

    def logs(
        self,
        *,
        run_id: str | None = None,
        trace_id: str | None = None,
        severity: str | None = None,
        event_name: str | None = None,
        limit: int | None = None,
    ) -> Frame:
        """Return log records, by time."""
        filters = {"run_id": run_id, "trace_id": trace_id, "severity": severity, "event_name": event_name}
        return self._list("SELECT * FROM logs", filters, "ORDER BY at, trace_id, span_id, ingested_at", limit)

    def missing_layers(self, *, run_id: str | None = None, limit: int | None = None) -> Frame:
        """Return which layers of a run's record are missing."""
        return self._list("SELECT * FROM missing_layers", {"run_id": run_id}, "ORDER BY run_id", limit)

    def rejects(self, *, signal: str | None = None, limit: int | None = None) -> Frame:
        """Return what was sent but could not be stored, with the reason."""
        return self._list("SELECT * FROM rejects", {"signal": signal}, "ORDER BY arrived_at", limit)

    def interpretation_problems(self, *, run_id: str | None = None, limit: int | None = None) -> Frame:
        """Return values that could not be read as their producer meant them."""
        filters = {"run_id": run_id}
        return self._list(
            "SELECT * FROM interpretation_problems", filters, "ORDER BY run_id, span_id, field", limit
        )

    def batches(self, *, limit: int | None = None) -> Frame:
        """Return the batches of loaded records, in the order of their chain."""
        return self._list("SELECT * FROM batches", {}, "ORDER BY log, number", limit)

    def retention_log(self, *, what: str | None = None, limit: int | None = None) -> Frame:
        """Return the receipts of deletions, in the order of their chain."""
        return self._list("SELECT * FROM retention_log", {"what": what}, "ORDER BY log, number", limit)

    def run_state(self, run_id: str, step: int = 0) -> Frame:
        """Return what the agent knew when the step began; 0 means after the last step."""
        return self.sql(
            "SELECT * FROM run_state(run_id = {run_id:String}, step = {step:UInt32}) ORDER BY key",
            run_id=run_id,
            step=step,
        )

    def entity_state(
        self, entity_type: str, entity_id: str, *, at: str | datetime = "", known_at: str | datetime = ""
    ) -> Frame:
        """Return the fields of an entity at one time, as known at another; '' is any time, text without a zone UTC."""
        return self.sql(
            "SELECT * FROM entity_state(entity_type = {entity_type:String}, entity_id = {entity_id:String}, "
            "at = {at:String}, known_at = {known_at:String}) ORDER BY field",
            entity_type=entity_type,
            entity_id=entity_id,
            at=at,
            known_at=known_at,
        )

    def provenance(self, ref: str, depth: int = 20, direction: Literal["up", "down"] = "up") -> Frame:
        """Return where something came from (`up`), or what it led to (`down`)."""
        return self.sql(
            "SELECT * FROM provenance(ref = {ref:String}, depth = {depth:UInt32}, direction = {direction:String})",
            ref=ref,
            depth=depth,
            direction=direction,
        )

    def run_diff(self, a: str, b: str) -> Frame:
        """Compare two runs side by side: one row per position and aspect."""
        return self.sql(
            "SELECT * FROM run_diff(a = {a:String}, b = {b:String}) ORDER BY position, aspect", a=a, b=b
        )

    def run_divergence(self, a: str, b: str) -> Frame:
        """Return where two runs diverge, and why: one row."""
        return self.sql("SELECT * FROM run_divergence(a = {a:String}, b = {b:String})", a=a, b=b)

    def _list(
        self, statement: str, filters: Mapping[str, str | None], order: str, limit: int | None
    ) -> Frame:
        given = [(column, value) for column, value in filters.items() if value is not None]
        for column, value in given:
            # Written as text, a list would be a value that no row has, and the answer an empty frame.
            if not isinstance(value, str):  # pyright: ignore[reportUnnecessaryIsInstance] - notebooks are not checked
                raise TypeError(
                    f"{column} is one text, not {type(value).__name__}. For several: "
                    f"sql('… WHERE {column} IN {{values:Array(String)}}', values=[…])"
                )
        parameters: dict[str, Value] = {}
        pieces = [statement]
        for number, (column, value) in enumerate(given):
            pieces += ["AND" if number else "WHERE", _FILTERS[number]]
            parameters |= {f"column_{number}": column, f"value_{number}": value}
        pieces.append(order)
        if limit is not None:
            pieces.append("LIMIT {limit:UInt64}")
            parameters["limit"] = limit
        return self.sql(" ".join(pieces), **parameters)
