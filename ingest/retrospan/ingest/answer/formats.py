"""The output formats that may be asked for, and their media types.

The engine has more: formats that read a schema or a template from a file, that other protocols need, and, being
embedded, one that makes an object of Python. Those are refused by name, before anything runs.
"""

from __future__ import annotations

from difflib import get_close_matches

from retrospan.schemas.errors import SqlError

UNKNOWN_FORMAT = 73
_TYPES = (
    "text/tab-separated-values; charset=UTF-8",
    "text/csv; charset=UTF-8",
    "application/x-ndjson; charset=UTF-8",
    "application/json; charset=UTF-8",
    "text/plain; charset=UTF-8",
    "application/octet-stream",
)
_TABS, _COMMAS, _LINES, _JSON, _TEXT, _BYTES = _TYPES
_NAMES = {
    _TABS: "TabSeparated TabSeparatedRaw TSV TSVRaw Raw TSKV",
    _COMMAS: "CSV CustomSeparated",
    _LINES: "JSONEachRow JSONLines JSONL NDJSON JSONCompactEachRow JSONStringsEachRow JSONCompactStringsEachRow "
    "JSONEachRowWithProgress JSONStringsEachRowWithProgress JSONCompactEachRowWithProgress "
    "JSONCompactStringsEachRowWithProgress",
    _JSON: "JSON JSONStrings JSONCompact JSONCompactStrings JSONColumns JSONCompactColumns JSONColumnsWithMetadata "
    "JSONObjectEachRow PrettyJSONEachRow PrettyJSONLines PrettyNDJSON GeoJSON",
    _TEXT: "Pretty PrettyNoEscapes PrettyMonoBlock PrettyNoEscapesMonoBlock PrettyCompact PrettyCompactNoEscapes "
    "PrettyCompactMonoBlock PrettyCompactNoEscapesMonoBlock PrettySpace PrettySpaceNoEscapes PrettySpaceMonoBlock "
    "PrettySpaceNoEscapesMonoBlock Vertical Values SQLInsert HiveText LineAsString Prometheus Hash Null",
    _BYTES: "Native RowBinary RawBLOB MsgPack BSONEachRow Avro ORC Npy ODBCDriver2",
}
_OWN_TYPES = {
    "XML": "application/xml; charset=UTF-8",
    "Arrow": "application/vnd.apache.arrow.file",
    "ArrowStream": "application/vnd.apache.arrow.stream",
    "Parquet": "application/vnd.apache.parquet",
    "Markdown": "text/markdown; charset=UTF-8",
    "MD": "text/markdown; charset=UTF-8",
}
_WITH_NAMES = (
    "TabSeparated TabSeparatedRaw TSV TSVRaw Raw CSV CustomSeparated RowBinary LineAsString JSONCompactEachRow "
    "JSONCompactStringsEachRow"
)


def _known() -> dict[str, tuple[str, str]]:
    """Every format by its folded name: as it is written, and its media type."""
    types = {name: kind for kind, names in _NAMES.items() for name in names.split()} | _OWN_TYPES
    for name in _WITH_NAMES.split():
        types[f"{name}WithNames"] = types[f"{name}WithNamesAndTypes"] = types[name]
    return {name.casefold(): (name, kind) for name, kind in types.items()}


FORMATS = _known()


def checked_format(name: str) -> str:
    """Return the format as the engine writes it.

    Raises:
        SqlError: it is not one that is served.
    """
    found = FORMATS.get(name.casefold())
    if found is None:
        near = get_close_matches(name.casefold(), FORMATS, 1, 0.75)
        hint = (
            f" Maybe you meant {FORMATS[near[0]][0]}."
            if near
            else " Use one such as JSONEachRow, CSV or Parquet."
        )
        raise SqlError(f"the format {name[:40]!r} is not supported.{hint}", code=UNKNOWN_FORMAT)
    return found[0]


def content_type(output_format: str) -> str:
    """Return the media type of a format that is served."""
    return FORMATS[output_format.casefold()][1]
