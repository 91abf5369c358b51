"""Which functions, tables and settings a reader of the warehouse may name.

What the engine offers is read from the engine itself, so a name it does not know is refused by the guard
and a new table function of a later engine is refused until it is listed here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from retrospan.queries import catalogue

if TYPE_CHECKING:
    from retrospan.schemas.store import Store

DATABASE = "retrospan"
#: Those that a name may be qualified with; of `system` some tables.
OPEN_DATABASES = frozenset([DATABASE, "system", "information_schema"])


def word_set(text: str) -> frozenset[str]:
    """One name per word."""
    return frozenset(text.split())


#: Functions that read files or the network, hold a thread, or look into the process. Measured: `readonly=1`
#: lets `SELECT file('/etc/passwd')` through.
REFUSED_FUNCTIONS = word_set(
    """
    addresstoline addresstolinewithinlines addresstosymbol catboostevaluate currentrequesturl demangle file
    filesystemavailable filesystemcapacity filesystemunreserved flamegraph fuzzquery generateserialid
    getclienthttpheader getmacro getoskernelversion getserverport getserversetting hascolumnintable hasthreadfuzzer
    joinget joingetornull lemmatize logtrace modelevaluate naivebayesclassifier naivebayesclassifierwithallprobs
    naivebayesclassifierwithprob showcertificate sleep sleepeachrow synonyms tcpport tid transactionid
    transactionlatestsnapshot transactionoldestsnapshot zookeepersessionuptime
    """
)
#: Functions whose time is a product of the lengths of what they are given, and which look at no clock meanwhile:
#: docs/decisions/0005-walls-around-sql.md has the measurements.
ENDLESS_FUNCTIONS = word_set(
    """
    arrayautocorrelation arraylevenshteindistance arraylevenshteindistanceweighted arraysimilarity
    dameraulevenshteindistance h3polygontocells h3polygontocellswithcontainment
    multifuzzymatchallindices multifuzzymatchany multifuzzymatchanyindex
    multimatchallindices multimatchany multimatchanyindex
    """
)
#: The same of two texts, but what people look for a mistyped name with: of short pieces of texts only.
BOUNDED_FUNCTIONS = word_set("editdistance editdistanceutf8 levenshteindistance levenshteindistanceutf8")
LONGEST_PIECE = 200
#: Dictionaries, those of regions too, may be backed by files and remote servers; the AI functions call language models.
REFUSED_PREFIXES = ("dict", "region", "ai", "__")

LONGEST_NAME = 120

TABLE_FUNCTIONS = word_set(
    "numbers numbers_mt zeros zeros_mt one primes values null view generateseries generate_series "
    "generaterandom merge"
)

#: Forms the parser reads itself: they look like calls and are in no list of functions.
SPECIAL_FORMS = word_set(
    """
    all and any apply array as ast between by case cast columns cube date date_add date_diff date_sub dateadd
    datediff datesub desc describe distinct div else estimate except exists explain extract filter final from
    global grouping having ilike in intersect interval is join like limit materialized mod not null offset on or
    over overlay partition pipeline plan position prewhere qualify recursive regexp replace rollup sample select sets some
    substring syntax table then timestamp timestampadd timestamp_add timestampsub timestamp_sub tree trim
    try_cast tuple union using values when where with within xor
    """
)

#: The parts of `system` that clients and dashboards ask for. Others show users, paths, other people's queries: `errors`
#: quotes the last statement that failed, `mutations` what was deleted of whom, `parts_columns` the least and greatest
#: value of a column, `completions` every name there is.
SYSTEM_TABLES = word_set(
    """
    aggregate_function_combinators build_options codecs collations columns contributors data_skipping_indices
    data_type_families databases documentation events formats functions keywords licenses merge_tree_settings
    metrics numbers numbers_mt one parts settings table_engines table_functions tables time_zones zeros zeros_mt
    """
)

SHOWABLE = word_set(
    "tables full extended databases columns fields create table view index indexes indices keys functions "
    "settings setting changed engines"
)

#: Settings a reader may set in the statement or the URL. A limit can be lowered, never raised.
LOWERED = word_set(
    """
    max_block_size max_execution_time max_memory_usage max_threads max_result_rows max_result_bytes max_rows_to_read
    max_bytes_to_read
    """
)
HARMLESS = word_set(
    """
    bool_false_representation bool_true_representation cast_keep_nullable count_distinct_implementation
    date_time_input_format date_time_output_format do_not_merge_across_partitions_select_final extremes final
    format_csv_delimiter group_by_use_nulls interval_output_format join_use_nulls limit
    offset optimize_read_in_order prefer_column_name_to_alias result_overflow_mode
    session_timezone transform_null_in union_default_mode use_skip_indexes use_variant_as_common_type
    """
)
#: Settings that say how is written what cannot be written here: clients set them for all they do, so they are taken, and
#: mean nothing.
OF_WRITING = word_set(
    """
    allow_nondeterministic_mutations alter_sync async_insert database_replicated_enforce_synchronous_settings
    distributed_foreground_insert insert_deduplicate insert_distributed_sync insert_quorum lightweight_deletes_sync
    max_insert_block_size mutations_sync replication_alter_partitions_sync wait_for_async_insert
    """
)
#: Settings that a subquery may carry, as our views do: they say what a value means, and bound nothing.
IN_SUBQUERIES = word_set(
    """
    cast_keep_nullable do_not_merge_across_partitions_select_final final group_by_use_nulls join_use_nulls
    optimize_read_in_order output_format_json_escape_forward_slashes prefer_column_name_to_alias transform_null_in
    union_default_mode use_variant_as_common_type
    """
)


def harmless(setting: str) -> bool:
    """Whether a reader may set this. `output_format_schema` names a file to write, so not every output setting."""
    output = setting.startswith("output_format_") and setting != "output_format_schema"
    return output or setting in HARMLESS


def settable(setting: str) -> bool:
    """Whether a reader may name this, whatever comes of it."""
    return harmless(setting) or setting in LOWERED or setting in OF_WRITING


@dataclass(frozen=True, slots=True)
class Allowlist:
    """The names a statement may call. All folded, but for `views`: view to its parameters, as installed."""

    functions: frozenset[str]
    combinators: tuple[str, ...] = ()
    types: frozenset[str] = frozenset()
    table_functions: frozenset[str] = frozenset()
    """Those of the engine, to say of one that it is refused, not unknown."""
    views: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    databases: frozenset[str] = frozenset()
    """Those that are nobody's business here."""

    @classmethod
    def read(cls, store: Store) -> Allowlist:
        """Ask the engine for its functions and types and for the views that are installed."""

        def names(statement: str) -> frozenset[str]:
            return frozenset(str(row[0]).casefold() for row in store.rows(statement))

        return cls(
            functions=names("SELECT name FROM system.functions"),
            combinators=tuple(sorted(names("SELECT name FROM system.aggregate_function_combinators"))),
            types=names("SELECT name FROM system.data_type_families"),
            table_functions=names("SELECT name FROM system.table_functions"),
            views=_parameters_of_views(store),
            databases=names("SELECT name FROM system.databases") - OPEN_DATABASES,
        )

    def callable(self, name: str) -> bool:
        """Return whether a statement may write `name(`; the name is folded."""
        if _refused(name) or len(name) > LONGEST_NAME:
            return False
        known = name in self.functions or name in SPECIAL_FORMS or name in self.types
        return known or name in TABLE_FUNCTIONS or self._combined(name)

    def _combined(self, name: str) -> bool:
        """Return whether this is an aggregate function with combinators: `sumIf`, `argMaxOrNullIf`."""
        for combinator in self.combinators:
            stem = name.removesuffix(combinator)
            if stem == name or _refused(stem):
                continue
            if stem in self.functions or self._combined(stem):
                return True
        return False


def _parameters_of_views(store: Store) -> dict[str, tuple[str, ...]]:
    """Return the parameters of each view that is installed. Of this release's own they are known by its comment."""
    shipped = {view.name: view for view in catalogue.views()}
    found: dict[str, tuple[str, ...]] = {}
    others: list[str] = []
    for name, comment in store.rows(
        "SELECT name, comment FROM system.tables WHERE database = {database:String} AND engine = 'View'",
        {"database": DATABASE},
    ):
        view = shipped.get(str(name))
        if view is not None and view.comment == comment:
            found[view.name] = _parameters_in(view.statement)
        else:
            others.append(str(name))
    if others:
        # Of these alone: the engine writes out each whole statement anew, a fifth of a second for all of them.
        for name, select in store.rows(
            "SELECT name, as_select FROM system.tables "
            "WHERE database = {database:String} AND name IN {names:Array(String)}",
            {"database": DATABASE, "names": others},
        ):
            found[str(name)] = _parameters_in(str(select))
    return found


def _parameters_in(select: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(re.findall(r"\{(\w+):", select)))


def _refused(name: str) -> bool:
    return name in REFUSED_FUNCTIONS or name in ENDLESS_FUNCTIONS or name.startswith(REFUSED_PREFIXES)
