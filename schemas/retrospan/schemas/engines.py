"""The one place that adapts our statements to a single server, a replicated database or a cluster.

The files define tables for one embedded engine. From them the other forms are derived:

    plain                  as written: embedded
    server                 the same, but no table that is there is laid out anew: others may write to it meanwhile
    replicated database    Replicated engines without a path; the database itself spreads every statement; views over
                           spans choose among the rows of every span, for what one replica has, another may not yet
    cluster, one shard     ON CLUSTER, and Replicated engines with a path: each node has every row
    cluster, more shards   the same under the name `<table>_local`, and a Distributed table over it under the name;
                           rows are spread by the hash of trace or run, so that what merges lies together

Pure: text in, text out. What varies is the engine's name, its settings and the clause ON CLUSTER, nothing else.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

#: A week: a batch whose answer was lost before a long outage is still recognised. The engine's default is an hour.
WINDOW_SECONDS = 604_800

#: By which columns the rows of a table are spread. What merges with FINAL must lie on one shard.
_BY_TRACE = frozenset({"raw_spans", "raw_logs", "raw_resent", "arrivals", "canon_traces", "canon_spans"})
_BY_RECORD = frozenset({"raw_rejects"})
_BY_NUMBER = frozenset({"receipts", "loaded_batches"})
#: Small and read as a whole: every node has all of it.
_EVERYWHERE = frozenset(
    {"schema_migrations", "logs", "log_identities", "leases", "deletions", "processes", "alert_events"}
)

_TABLE = re.compile(r"^(\s*(?:--[^\n]*\n\s*)*)CREATE TABLE IF NOT EXISTS (\w+)", re.MULTILINE)
_ENGINE = re.compile(r"^ENGINE = (Replacing|Aggregating)?MergeTree(?:\((\w*)\))?$", re.MULTILINE)
_HEAD = re.compile(
    r"^(CREATE (?:OR REPLACE )?(?:MATERIALIZED )?(?:TABLE|VIEW|FUNCTION|DATABASE)(?: IF NOT EXISTS)? \w+"
    r"|ALTER TABLE \w+|DROP TABLE IF EXISTS \w+)",
    re.MULTILINE,
)
#: What an ALTER changes only where the rows themselves are.
_OF_ROWS = (
    "MODIFY SETTING",
    "MODIFY COLUMN",
    "ADD INDEX",
    "DROP INDEX",
    "MATERIALIZE INDEX",
    "MATERIALIZE COLUMN",
)
_ALTER = re.compile(r"^ALTER TABLE (\w+)", re.MULTILINE)
_WINDOW = re.compile(r"non_replicated_deduplication_window = (\d+)")
_DELETE = re.compile(r"^DELETE FROM (\{table:Identifier\})", re.MULTILINE)


#: What fills the table of traces in which a span came again.
_NOTES_AGAIN = re.compile(
    r"^(CREATE MATERIALIZED VIEW IF NOT EXISTS raw_resent_|INSERT INTO raw_resent )", re.MULTILINE
)
_LIES_ONCE = "trace_id NOT IN (SELECT trace_id FROM raw_resent)"
_LIES_AGAIN = "w.trace_id IN (SELECT trace_id FROM raw_resent)"
#: Statements that lay out a table anew and copy its rows.
_ANEW = re.compile(r"^CREATE OR REPLACE TABLE \w+", re.MULTILINE)
_CANONICAL = re.compile(r"^CREATE TABLE IF NOT EXISTS canon_", re.MULTILINE)
#: How `canon_spans` was made first, and how it is laid out anew.
_EACH_READING = (
    "ENGINE = ReplacingMergeTree(generation)\nORDER BY (tenant, trace_id, span_id)\n",
    "ENGINE = MergeTree\nORDER BY (tenant, trace_id, span_id, generation)\n",
)


@dataclass(frozen=True, slots=True)
class Form:
    """How tables are made in one warehouse. Made by `PLAIN`, `SERVER`, `replicated_database` and `cluster`."""

    cluster: str = ""
    """The cluster's name; '' when no statement says ON CLUSTER."""
    shards: int = 1
    replicated: bool = False
    shared: bool = False
    """Others may write while statements run: no table is replaced."""

    def shaped(self, statement: str) -> list[str]:
        """Return the statements to run, in order, for one of our `.sql` files."""
        if self.shared and _ANEW.search(statement):
            return []
        if self.shared:
            statement = _laid_out(statement)
            if _NOTES_AGAIN.search(statement):
                return []
            statement = choosing_everywhere(statement)
        if not self.replicated:
            return [statement]
        found = _TABLE.search(statement)
        if found is None:
            return self._of_both(statement)
        table = found[2]
        if not _ENGINE.search(statement):
            return [self._on_cluster(statement)]
        sharded = self.shards > 1 and table not in _EVERYWHERE
        local = f"{table}_local" if sharded else table
        own = _TABLE.sub(rf"\g<1>CREATE TABLE IF NOT EXISTS {local}", statement, count=1)
        own = _ENGINE.sub(lambda engine: self._engine(engine, local), own, count=1)
        own = _WINDOW.sub(
            rf"replicated_deduplication_window = \1, replicated_deduplication_window_seconds = {WINDOW_SECONDS}",
            own,
        )
        statements = [self._on_cluster(own)]
        if sharded:
            statements.append(
                self._on_cluster(f"CREATE TABLE IF NOT EXISTS {table}").rstrip()
                + f"\nAS {local}\nENGINE = Distributed('{self.cluster}', currentDatabase(), '{local}', {_spread_by(table)})"
            )
        return statements

    def local(self, table: str) -> str:
        """Return the table that holds the rows themselves."""
        return f"{table}_local" if self.shards > 1 and table not in _EVERYWHERE else table

    def everywhere(self, statement: str) -> str:
        """Return a DELETE as it reaches every shard."""
        if self.shards == 1:
            return statement
        return _DELETE.sub(rf"DELETE FROM \1 ON CLUSTER `{self.cluster}`", statement)

    @property
    def settings(self) -> dict[str, str | int]:
        """What every connection needs so that several shards answer as one."""
        if self.shards == 1:
            return {}
        # Rows are where they belong when an insert returns, no shard is left out in silence, and a join sees all rows.
        return {
            "distributed_foreground_insert": 1,
            "skip_unavailable_shards": 0,
            "distributed_product_mode": "global",
        }

    def _of_both(self, statement: str) -> list[str]:
        """Return an ALTER for the table of the rows and for the one over it; anything else is one statement."""
        altered = _ALTER.search(statement)
        if altered is None or self.local(altered[1]) == altered[1] or altered[1] == "landing":
            return [self._on_cluster(statement)]
        if "MODIFY QUERY" in statement:  # a view lies nowhere
            return [self._on_cluster(statement)]
        local = self._on_cluster(_ALTER.sub(f"ALTER TABLE {self.local(altered[1])}", statement, count=1))
        # The table over it has no settings and no indexes of its own.
        of_rows = any(what in statement for what in _OF_ROWS)
        return [local] if of_rows else [local, self._on_cluster(statement)]

    def _on_cluster(self, statement: str) -> str:
        if not self.cluster:
            return statement
        return _HEAD.sub(rf"\1 ON CLUSTER `{self.cluster}`", statement, count=1)

    def _engine(self, engine: re.Match[str], table: str) -> str:
        name = f"Replicated{engine[1] or ''}MergeTree"
        version = [engine[2]] if engine[2] else []
        if not self.cluster:
            return f"ENGINE = {name}({', '.join(version)})" if version else f"ENGINE = {name}"
        # A path by name, not by the table's uuid: a replica that joins later finds the others.
        shard = "all" if table in _EVERYWHERE else "{shard}"
        place = [f"'/clickhouse/tables/{shard}/retrospan/{table}'", "'{replica}'"]
        return f"ENGINE = {name}({', '.join([*place, *version])})"


PLAIN = Form()
#: One server, which several collectors may write to.
SERVER = Form(shared=True)


def replicated_database() -> Form:
    """Return a database whose engine is Replicated: ON CLUSTER is refused there, and engines take no path."""
    return Form(replicated=True, shared=True)


def cluster(name: str, *, shards: int = 1) -> Form:
    """Return a cluster of the server's configuration, with the macros `shard` and `replica`.

    Raises ValueError when the name is none that can be written as it is.
    """
    if not re.fullmatch(r"[A-Za-z0-9_.-]+", name):
        raise ValueError(f"{name!r} is not a cluster name")
    return Form(cluster=name, shards=shards, replicated=True, shared=True)


def choosing_everywhere(statement: str) -> str:
    """Return a view over spans that chooses among the rows of every span, not only where one is known to have come
    again.

    That is known only where an insert sees whatever was stored before it: of several collectors two may insert at the
    same time, and one replica may lag behind another.
    """
    return statement.replace(_LIES_ONCE, "false").replace(_LIES_AGAIN, "true")


def _laid_out(statement: str) -> str:
    """Return a canonical table as it is laid out anew elsewhere: a question about one run reads one small granule, and
    every reading of a span is kept.
    """
    if not _CANONICAL.search(statement):
        return statement
    statement = statement.replace(*_EACH_READING)
    return statement.replace("index_granularity = 8192", "index_granularity = 1024")


def _spread_by(table: str) -> str:
    if table in _BY_RECORD:
        return "cityHash64(tenant, sequence)"
    if table in _BY_NUMBER:
        return "cityHash64(log, number)"
    return f"cityHash64(tenant, {'trace_id' if table in _BY_TRACE else 'run_id'})"
