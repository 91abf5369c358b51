"""The demo: real recorded agent runs, replayed through real OTLP into a temporary collector."""
