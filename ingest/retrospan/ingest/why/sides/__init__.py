"""Why runs of one side fare worse than those of another: rows of the views in, sentences out. Pure."""
