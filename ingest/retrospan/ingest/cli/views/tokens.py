"""The tokens of a run or of a model call."""

from __future__ import annotations

from retrospan.ingest.cli.client.collector_client import Row
from retrospan.ingest.cli.client.rows import whole
from retrospan.ingest.cli.terminal.text import count


def tokens(row: Row) -> str:
    """`1,000/150`: input and output tokens, `-` where the producer did not say."""
    given, made = whole(row, "input_tokens"), whole(row, "output_tokens")
    return "-" if given is None and made is None else f"{count(given)}/{count(made)}"
