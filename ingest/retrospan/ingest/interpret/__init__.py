"""Interpretation: from the spans of a trace to the canonical rows of its runs.

`run` puts the parts together, in this order: `spans` (raw rows decoded) → `normalize` (what each span says, with
its `dialects`) → `assembly` (the run: tree, calls, steps, states) → `lineage` and `stated` (where things came from, what
agents state) → `rows`. All of that is pure. `service` runs it: queue, processes, writing.
"""
