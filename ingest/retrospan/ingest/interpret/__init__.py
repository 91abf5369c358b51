"""Interpretation: from the spans of a trace to the canonical rows of its runs.

`run` puts the parts together, in this order: `spans` (raw rows decoded) → `normalize` (what each span says, with
its `dialects`) → `assembly` (the run: tree, calls, steps, states) → `stated` (what agents state) → `lineage` (where
things came from) → `rows`. All of that is pure. `service` runs it: queue, processes, writing.
"""
