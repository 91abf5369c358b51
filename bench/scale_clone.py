"""Makes a large warehouse out of a small one, in SQL: every row again under other ids, on another day.

A clone has a mark of its own wherever the base has `MARK`, so that no clone refers to another, and lies a number of
days earlier. Sequences stay: a restart finds nothing that was not interpreted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from bench.scale_base import MARK
from retrospan.schemas.store import Store

DAYS = 30
#: Clones that one statement makes.
_AT_ONCE = 25
#: Of a statement that makes clones: at five million spans more than a collector gives to one.
_BYTES = 6 << 30
#: OpenTelemetry's batch processor sends what has ended every so many nanoseconds: what it sends arrives together.
_EVERY_NS = 5_000_000_000
#: Tables whose rows are not cloned: they tell what the log holds.
_LEFT = frozenset(
    {
        "schema_migrations",
        "logs",
        "leases",
        "landing",
        "loaded_batches",
        "receipts",
        "run_marks",
        "raw_rejects",
    }
)
_RAW = frozenset({"raw_spans", "raw_logs"})


def _sent(ended: str) -> str:
    """Return when a span that ended then is sent, in Unix nanoseconds."""
    return f"(intDiv({ended}, {_EVERY_NS}) + 1) * {_EVERY_NS}"


#: Traces with their spans counted by the arrivals that clones give them, as interpreting does.
_COUNTED = f"""(
SELECT t.* EXCEPT (arrivals), c.arrivals AS arrivals
FROM canon_traces AS t FINAL
LEFT JOIN
(
    SELECT tenant, trace_id, groupArray((at, dialect, spans, outside)) AS arrivals
    FROM
    (
        SELECT r.tenant AS tenant, r.trace_id AS trace_id, toInt64({_sent("r.ended_ns")}) AS at,
            toString(s.dialect) AS dialect, toUInt32(count()) AS spans, toUInt32(countIf(s.run_id = '')) AS outside
        FROM raw_spans AS r
        LEFT JOIN
        (
            SELECT * FROM canon_spans
            WHERE position(trace_id, '{MARK}') = 3
                AND (tenant, trace_id, generation) IN (SELECT tenant, trace_id, generation FROM canon_traces FINAL)
        ) AS s USING (tenant, trace_id, span_id)
        GROUP BY ALL
        ORDER BY at, dialect
    )
    GROUP BY tenant, trace_id
) AS c USING (tenant, trace_id)
)"""


def clone(store: Store, clones: int, tell: Callable[[str], None]) -> None:
    """Add so many clones of everything that is in the warehouse. Materialized views over the tables see the rows."""
    for table in _tables(store):
        tell(f"cloning {table}")
        columns = store.rows(
            "SELECT name, type FROM system.columns WHERE database = currentDatabase() AND table = {table:String} "
            "AND default_kind NOT IN ('MATERIALIZED', 'ALIAS') ORDER BY position",
            {"table": table},
        )
        # A partition is a day: rows of one insert are of few days, and every table has one insert for each batch.
        for numbers in _batches(clones):
            store.command(
                _insert(table, [(str(name), str(kind)) for name, kind in columns], numbers),
                settings={
                    "max_partitions_per_insert_block": 0,
                    "max_threads": 2,
                    "max_memory_usage": _BYTES,
                },
            )


def close_days(store: Store, tell: Callable[[str], None]) -> None:
    """Merge the days before the last, as the engine does when nothing came to one for four hours: clones come all at once."""
    days = store.rows(
        "SELECT table, partition FROM system.parts WHERE database = currentDatabase() AND active "
        "AND partition != 'tuple()' GROUP BY table, partition HAVING count() > 1 "
        "AND partition < toString(toYYYYMMDD(now())) ORDER BY table, partition"
    )
    tell(f"merging {len(days)} days")
    for table, day in days:
        store.command(
            f"OPTIMIZE TABLE {table} PARTITION {day} FINAL",
            settings={"max_memory_usage": _BYTES, "optimize_throw_if_noop": 1},
        )


def _tables(store: Store) -> list[str]:
    """Tables that hold rows of their own, those that views feed left out."""
    fed = {
        str(name)
        for (name,) in store.rows(
            "SELECT extract(create_table_query, ' TO (?:\\\\w+\\\\.)?(\\\\w+)') FROM system.tables "
            "WHERE database = currentDatabase() AND engine = 'MaterializedView' "
            "AND NOT has(loading_dependencies_table, 'landing') AND create_table_query NOT LIKE '%FROM %landing%'"
        )
    }
    found = store.rows(
        "SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree' "
        "AND total_rows > 0 ORDER BY name"
    )
    return [str(name) for (name,) in found if name not in _LEFT and name not in fed]


def _batches(clones: int) -> Iterator[Sequence[int]]:
    """Numbers of clones from 1 on, those of a day side by side."""
    ordered = sorted(range(1, clones + 1), key=lambda number: number % DAYS)
    for first in range(0, len(ordered), _AT_ONCE):
        yield ordered[first : first + _AT_ONCE]


def _insert(table: str, columns: Sequence[tuple[str, str]], numbers: Sequence[int]) -> str:
    written = [_changed(table, name, kind) for name, kind in columns]
    return (
        f"INSERT INTO {table} ({', '.join(name for name, _ in columns)})\n"
        f"SELECT {', '.join(written)}\n"
        f"FROM (SELECT *, arrayJoin({list(numbers)}) AS clone_number, "
        "lower(leftPad(hex(toUInt32(cityHash64(clone_number))), 8, '0')) AS clone_mark, "
        f"clone_number % {DAYS} AS clone_days FROM {_source(table)} "
        f"WHERE {_of_base(columns)})"
    )


def _source(table: str) -> str:
    if table == "canon_traces":
        return _COUNTED
    if table != "arrivals":
        return table
    # When a trace arrived is when its last span did: in the base all arrived within a minute.
    return (
        "(SELECT a.* EXCEPT (arrived_at), fromUnixTimestamp64Nano(toInt64(t.ended), 'UTC') AS arrived_at "
        f"FROM arrivals AS a INNER JOIN (SELECT tenant, trace_id, {_sent('max(ended_ns)')} AS ended "
        "FROM raw_spans GROUP BY tenant, trace_id) AS t USING (tenant, trace_id))"
    )


def _of_base(columns: Sequence[tuple[str, str]]) -> str:
    """Only what the base has, so that a table that is fed while it is read does not clone clones."""
    names = {name for name, _ in columns}
    key = (
        "trace_id" if "trace_id" in names and "run_id" not in names else "run_id" if "run_id" in names else ""
    )
    return f"position({key}, '{MARK}') = 3" if key else "1"


def _changed(table: str, name: str, kind: str) -> str:
    if table in _RAW and name == "arrived_at":
        ended = "ended_ns" if table == "raw_spans" else "if(time_ns = 0, observed_ns, time_ns)"
        return f"fromUnixTimestamp64Nano(toInt64({_sent(ended)}), 'UTC') - toIntervalDay(clone_days)"
    if table == "canon_runs" and name == "arrived_at":
        ended = "toUnixTimestamp64Nano(newest_ended_at)"
        return f"fromUnixTimestamp64Nano(toInt64({_sent(ended)}), 'UTC') - toIntervalDay(clone_days)"
    if table == "canon_traces" and name == "arrivals":
        return "arrayMap(a -> (a.1 - clone_days * 86400000000000, a.2, a.3, a.4), arrivals)"
    if name in ("started_ns", "ended_ns", "time_ns", "observed_ns"):
        return f"if({name} = 0, 0, {_earlier(name)})"
    if name == "events" and table == "raw_spans":
        return f"arrayMap(e -> tuple({_earlier('e.1')}, e.2, {_triples('e.3')}, e.4), events)"
    if name == "links" and table == "raw_spans":
        return f"arrayMap(l -> tuple({_marked('l.1')}, l.2, l.3, l.4, {_triples('l.5')}, l.6), links)"
    if name == "body" and table == "raw_logs":
        return f"tuple(body.1, {_marked('body.2')})"
    if table in _RAW and kind.startswith("Array(Tuple("):
        return _triples(name)
    if "DateTime64" in kind:
        return f"{name} - toIntervalDay(clone_days)"
    if kind.startswith("Map("):
        return f"mapApply((k, v) -> (k, {_marked('v')}), {name})"
    if name in ("subject", "object", "reference"):
        # A document that a recording names would tie all clones together.
        return f"replaceRegexpOne({_marked(name)}, '^document:', concat('document:', clone_mark, '-'))"
    if kind in ("Array(String)",):
        return f"arrayMap(x -> {_marked('x')}, {name})"
    if kind in ("String", "Nullable(String)"):
        return _marked(name)
    return name


def _marked(expression: str) -> str:
    return f"replaceAll({expression}, '{MARK}', clone_mark)"


def _triples(expression: str) -> str:
    return f"arrayMap(t -> tuple(t.1, t.2, {_marked('t.3')}), {expression})"


def _earlier(expression: str) -> str:
    return f"toUInt64({expression} - clone_days * 86400000000000)"
