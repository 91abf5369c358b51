"""What one span says, in one vocabulary: a `NormalizedSpan`, by the general rules.

`general.read_span` is the entry; what only one instrumentation does is in `interpret.dialects`.
"""
