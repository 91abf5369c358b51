"""The messages to and from the interpreting process. Light: the process that asks does not load what reads a run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from retrospan.ingest.interpret.service.histories import ToldHistories
from retrospan.ingest.load.raw_row_reader import PAGE_SPANS
from retrospan.ingest.rules.ruleset import Ruleset
from retrospan.ingest.warehouse.rows import Encoded, Types
from retrospan.schemas.errors import PermanentError
from retrospan.schemas.sequences import Newest


@dataclass(frozen=True, slots=True)
class Job:
    """Traces to interpret: generations free from `generation` on, the rules and prices to read them by, and their raw rows;
    and the `types` of the columns of the tables that it is for.

    `pages` are those of their spans, read as they are sent, and stay behind when a job is pickled. With `asks` there are
    none: the child asks for whatever it needs, for all that belongs to these traces as well, for up to `most_rows` rows
    of spans (0 is without end) and `page_spans` at a time.
    """

    tenant: str
    newest: dict[str, Newest]
    logs: bytes
    generation: int
    types: Mapping[str, Types]
    rules: Ruleset
    prices: bytes = b""  # their history, packed
    pages: Iterable[bytes] = ()
    asks: bool = False
    most_rows: int = 0
    page_spans: int = PAGE_SPANS


@dataclass(frozen=True, slots=True)
class RunSummary:
    """What the parent must know of a run to keep its neighbours right."""

    run_id: str
    generation: int
    conversation_id: str | None
    started_at: int
    final_history_hash: str


@dataclass(frozen=True, slots=True)
class BatchResult:
    """What came of a job. `last_generation` is the highest used. `known` spans were kept from earlier readings.

    `histories` are those of its traces, and `claims` the runs that they name: where these lead to others the job was not
    all that belongs together, unless it was one that `asks`. Of traces that are `left` nothing came: they need something
    that the job did not have. `rows` can be gone through once. With `is_large` they are still coming: they have to be written, or given up,
    before the next job is sent.
    """

    runs: list[RunSummary]
    homes: dict[str, list[str]]
    effort: dict[str, float]
    spans: int
    broken: int
    last_generation: int
    foreign: dict[str, str]
    rows: Iterable[Encoded] = ()
    is_large: bool = False
    known: int = 0
    histories: dict[str, ToldHistories] = field(default_factory=dict)
    claims: dict[str, list[str]] = field(default_factory=dict)
    left: frozenset[str] = frozenset()

    def without(self, tenant: str, trace_ids: Collection[str]) -> BatchResult:
        """Return what came of the other traces: of traces that were read by themselves no row is about two. What is counted
        stays: they were read."""
        # A trace that cannot be interpreted is a run by its own id.
        gone = {*trace_ids, *(run_id for trace_id in trace_ids for run_id in self.homes.get(trace_id, ()))}
        keys = [(tenant, key) for key in gone]  # every table begins with the tenant and the run, or the trace
        return replace(
            self,
            runs=[run for run in self.runs if run.run_id not in gone],
            homes={trace_id: runs for trace_id, runs in self.homes.items() if trace_id not in trace_ids},
            effort={trace_id: took for trace_id, took in self.effort.items() if trace_id not in trace_ids},
            rows=(kept for rows in self.rows if (kept := rows.without(keys)).data),
        )


class TooLong(PermanentError):
    """Traces that belong together have more spans than were to be read now."""
