"""Redaction at the receiver: secrets are taken out of OTLP requests before the log sees them."""
