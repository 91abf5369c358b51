"""Rows as the engine reads them, of which some are left out."""

from __future__ import annotations

import json
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from retrospan.ingest.warehouse.rows import encode_rows

#: What could be taken for the end of a line or of a value, or for the beginning of another key.
TEXT = st.text(st.sampled_from('ab",[]\\\n\r\u2028\udcff\u00e4 '), max_size=4)


@dataclass(frozen=True, slots=True)
class Row:
    tenant: str
    run_id: str
    value: str


@given(st.lists(st.builds(Row, TEXT, TEXT, TEXT)), st.sets(st.tuples(TEXT, TEXT)))
def test_rows_that_begin_so_are_left_out_and_no_others(rows: list[Row], keys: set[tuple[str, str]]) -> None:
    if not rows:
        return
    keys |= {(rows[0].tenant, rows[0].run_id)}
    kept = [row for row in rows if (row.tenant, row.run_id) not in keys]
    encoded = encode_rows("t", rows, frozenset())
    found = encoded.without(keys)
    assert (found.table, found.columns) == (encoded.table, encoded.columns)
    assert found.data == (encode_rows("t", kept, frozenset()).data if kept else b"")
    assert len(encoded.without([]).data.split(b"\n")) == len(rows) + 1
    assert all(
        len(json.loads(line.decode("utf-8", "surrogateescape"))) == 3
        for line in found.data.split(b"\n")
        if line
    )
