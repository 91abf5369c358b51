"""The media types of ClickHouse's output formats."""

from __future__ import annotations

_CONTENT_TYPES = {
    "tabseparated": "text/tab-separated-values; charset=UTF-8",
    "tsv": "text/tab-separated-values; charset=UTF-8",
    "csv": "text/csv; charset=UTF-8",
    "jsoneachrow": "application/x-ndjson; charset=UTF-8",
    "jsoncompacteachrow": "application/x-ndjson; charset=UTF-8",
    "json": "application/json; charset=UTF-8",
    "xml": "application/xml; charset=UTF-8",
    "arrowstream": "application/vnd.apache.arrow.stream",
    "arrow": "application/vnd.apache.arrow.file",
    "parquet": "application/vnd.apache.parquet",
    "native": "application/octet-stream",
    "rowbinary": "application/octet-stream",
    "pretty": "text/plain; charset=UTF-8",
    "vertical": "text/plain; charset=UTF-8",
    "markdown": "text/markdown; charset=UTF-8",
}


def content_type(output_format: str) -> str:
    """The media type of a ClickHouse format."""
    folded = output_format.casefold()
    for name in (folded, folded.partition("with")[0]):
        if name in _CONTENT_TYPES:
            return _CONTENT_TYPES[name]
    family = next((name for name in ("pretty", "json", "csv", "tsv") if folded.startswith(name)), "native")
    return _CONTENT_TYPES[family]
