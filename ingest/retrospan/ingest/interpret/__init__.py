"""Interpretation: from the spans of a trace to the canonical rows of its runs.

`run` puts the rooms together, in this order:

1. `spans` (raw rows decoded) and `grouping` (which traces are one run)
2. `normalize`: what each span says, with its `dialects` and the forms of `messages`
3. `tree`, `duplicates` (several spans of one act), `unfolding` (several acts in one span)
4. `calls`, `prompts` (what each model was given), `pairing` (which call each tool executed)
5. `steps` (with the state around each) and `outcome` (answer, failures, agents)
6. `stated` (what agents state), `lineage` (where things came from), `invariants` (what must hold, else a doubt)
7. `rows`, and `findings` from them

All of that is pure. `service` runs it: queue, processes, writing.
"""
