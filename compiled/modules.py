"""What `make compiled` compiles, and what it leaves as Python: the one list of both.

Compiled is what reads a run from its decoded spans to its rows. The compiled modules call each other without Python between,
so they are built, and replaced, together. test_list.py compares this with what the interpreting process loads.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

#: Modules, and packages with all that is in them.
COMPILED = (
    "retrospan.ingest.interpret.calls",
    "retrospan.ingest.interpret.dialects",
    "retrospan.ingest.interpret.duplicates",
    "retrospan.ingest.interpret.grouping",
    "retrospan.ingest.interpret.invariants",
    "retrospan.ingest.interpret.lineage",
    "retrospan.ingest.interpret.messages",
    "retrospan.ingest.interpret.normalize",
    "retrospan.ingest.interpret.outcome",
    "retrospan.ingest.interpret.pairing",
    "retrospan.ingest.interpret.prompts",
    "retrospan.ingest.interpret.rows",
    "retrospan.ingest.interpret.run",
    "retrospan.ingest.interpret.spans",
    "retrospan.ingest.interpret.stated",
    "retrospan.ingest.interpret.steps",
    "retrospan.ingest.interpret.tree",
    "retrospan.ingest.interpret.unfolding",
    "retrospan.ingest.json_text",
    "retrospan.ingest.load.attributes",
    "retrospan.schemas.hashing",
    "retrospan.schemas.json_encoding",
    "retrospan.schemas.references",
)

#: Of what the interpreting process loads, what stays Python, and why. `__init__.py` of a package always does: what is beside
#: it, as statements in .sql files, is found by its path.
LEFT_OUT = {
    "retrospan.ingest.interpret.conversations": "asks the warehouse, once for a conversation",
    "retrospan.ingest.interpret.version": "a few lines, called once for a run",
    "retrospan.ingest.empty_result": "a few lines, called for results that are short",
    "retrospan.ingest.interpret.findings": "called once for a run; most of its work is that of regular expressions and of sets",
    "retrospan.ingest.interpret.service": "processes, queues and pipes: its objects are pickled, and it waits more than it works",
    "retrospan.ingest.load.raw_row_reader": "one call of json's decoder for each row",
    "retrospan.ingest.prices": "called once for a model call, with decimals, which are Python's own",
    "retrospan.ingest.rules": "rules are pickled with a job, and no frozen class of mypyc can be",
    "retrospan.ingest.sql_files": "reads files, once",
    "retrospan.ingest.settings.trusted_file": "reads files, once",
    "retrospan.ingest.warehouse": "its objects are pickled; encoding a column is a few calls of what is C already",
    "retrospan.schemas.attributes": "constants",
    "retrospan.schemas.canonical": "classes of rows: what fills one in is Python's own, and quicker for a class of Python's",
    "retrospan.schemas.costs": "the class of a row",
    "retrospan.schemas.errors": "exceptions, which are pickled",
    "retrospan.schemas.findings": "classes of rows",
    "retrospan.schemas.prompt_records": "constants, and a few lines called once for a record",
    "retrospan.schemas.raw": "rows that the loader and the checks make as well, and that tests alter",
    "retrospan.schemas.semconv": "constants",
    "retrospan.schemas.sequences": "a few lines, called once for a trace",
    "retrospan.schemas.stated": "classes of rows",
    "retrospan.schemas.store": "a protocol",
    "retrospan.schemas.traces": "classes of rows",
    "retrospan.schemas.typed_rows": "generic over the types of columns",
    "retrospan.schemas.wire": "a generator for each message: none is quicker compiled",
}


def is_named(module: str, names: Iterator[str] | tuple[str, ...] | dict[str, str]) -> bool:
    """Tell whether a module is one of those named, or in a package that is."""
    return any(module == name or module.startswith(f"{name}.") for name in names)


def files_in(tree: Path) -> list[Path]:
    """Return the files of a tree of packages that are compiled, from the tree on, in order."""
    return [
        file
        for path in sorted(tree.rglob("*.py"))
        if (file := path.relative_to(tree)).name != "__init__.py"
        and is_named(".".join(file.with_suffix("").parts), COMPILED)
    ]
