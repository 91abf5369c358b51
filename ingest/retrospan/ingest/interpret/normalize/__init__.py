"""One span's content in one vocabulary: a `NormalizedSpan`, by the general rules.

`general.read_span` is the entry point; the particulars of each instrumentation are in `interpret.dialects`.
"""
