"""The way of a span from its end to the collector: backlog, encoding, redaction, requests, outbox, transport."""
