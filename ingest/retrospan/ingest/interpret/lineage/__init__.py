"""Where values came from: the provenance edges of a run, stated and found."""
