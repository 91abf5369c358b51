"""What to take out of text and of OTLP messages, and how it is found: rules by key and by pattern. The collector and
the exporter apply the same. Standard library only."""
