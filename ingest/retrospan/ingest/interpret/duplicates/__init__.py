"""One act behind several spans: which of them tell of the same request or execution."""
