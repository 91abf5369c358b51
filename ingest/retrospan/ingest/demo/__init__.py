"""The demo: real recorded agent runs, played through real OTLP into a collector of its own."""
