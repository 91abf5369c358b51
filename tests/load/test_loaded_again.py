"""Records that are loaded again are not counted again: after a rebuild, without a ledger, after a part was refused."""

from __future__ import annotations

import otlp_requests as make
import pytest
from fix_collector import Served


@pytest.mark.parametrize("how", ["rebuild", "rebuild after a start", "ledger lost"])
def test_spans_that_are_loaded_again_are_there_once(served: Served, how: str) -> None:
    spans = [make.span(f"chat {number}") for number in range(200)]
    served.send(traces=[make.traces(*spans).SerializeToString()])
    served.wait_idle()
    asked = "SELECT count() AS n, uniqExact(trace_id, span_id) AS u, max(variants) AS v FROM spans"
    before = served.rows(asked)
    assert before == [{"n": 200, "u": 200, "v": 1}]
    if how != "rebuild":
        assert served.stop() == 0
        if how == "ledger lost":
            (served.data / "log" / "batches.jsonl").unlink()
        served.start()
    if how != "ledger lost":
        served.run("rebuild")
    served.wait_idle()
    assert served.rows(asked) == before
    # What comes after it is noted in the usual way.
    served.send(traces=[make.traces(*spans[:50]).SerializeToString()])
    served.wait_idle()
    assert served.rows(asked) == before
