"""What to remove from text and OTLP messages, and how it is found: rules by key and by pattern, for both the collector
and the exporter. Standard library only."""
