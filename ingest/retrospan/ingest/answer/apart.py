"""What a token may not ask where several tenants lie in one warehouse: numbers of all of them together.

The server keeps their rows apart. How much lies where, and how much is read for an answer, it counts for all. Pure.
"""

from __future__ import annotations

import re
from dataclasses import replace

from retrospan.ingest.answer.guard.allowlist import word_set
from retrospan.ingest.answer.guard.lexer import tokens
from retrospan.ingest.answer.questions import Question
from retrospan.ingest.warehouse.error_codes import ACCESS_DENIED
from retrospan.schemas.errors import SqlError

#: Sizes of tables, and what the server has done and is doing.
_OF_ALL = word_set("data_skipping_indices events metrics parts")
#: Columns of every table that tell where in it a row lies, and so how many lie before.
_PLACES = re.compile(r"_part|_part_[a-z_]+|_partition_[a-z]+|_block_[a-z]+|_disk_name")
#: What these print follows from the statement alone; a plan tells what is read for it.
_OF_STATEMENT = word_set("ast syntax query")


def apart(question: Question) -> Question:
    """Return the question without what counts the rows of all tenants.

    Raises:
        SqlError: that is what it asks for.
    """
    words = [token for token in tokens(question.statement.sql) if token.kind != "blank"]
    for database, mark, table in zip(words, words[1:], words[2:], strict=False):
        if database.folded == "system" and mark.is_mark(".") and table.folded in _OF_ALL:
            raise _refusal(f"system.{table.folded}")
    if question.output_format.endswith("WithProgress"):
        raise _refusal(question.output_format)
    named = [word.folded for word in words if word.kind in ("word", "name")]
    # A value may be a name: {column:Identifier}.
    for name in (*named, *question.parameters.values()):
        if _PLACES.fullmatch(name):
            raise _refusal(name)
    if words and words[0].is_word("explain") and not (len(words) > 1 and words[1].is_word(*_OF_STATEMENT)):
        raise _refusal("EXPLAIN of how a statement is executed")
    return replace(question, settings={**question.settings, "output_format_write_statistics": 0})


def _refusal(what: str) -> SqlError:
    return SqlError(
        f"{what} counts the rows of all tenants together: it takes a token with the right metrics.",
        code=ACCESS_DENIED,
    )
