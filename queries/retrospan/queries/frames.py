"""ArrowStream bytes to DataFrames. Loads polars, and pandas only when pandas is asked for.

Agents may send text that is not UTF-8, and it is stored as it came. A frame's strings must be UTF-8: such text
shows with replacement characters, and the rest of the frame as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from retrospan.schemas.errors import MissingExtra

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

#: Asks again, with strings as text (True) or as bytes (False).
Ask = Callable[[bool], bytes]


def polars_frame(ask: Ask) -> pl.DataFrame:
    """Return the answer as a polars DataFrame.

    Raises:
        MissingExtra: polars is not installed.
    """
    try:
        import polars
    except ImportError as error:
        raise MissingExtra("frames", module="polars") from error
    body = ask(True)
    try:
        return polars.read_ipc_stream(body) if body else polars.DataFrame()
    except polars.exceptions.ComputeError as error:
        if "utf" not in str(error).casefold():
            raise
    return _replaced(polars.read_ipc_stream(ask(False)))


def pandas_frame(ask: Ask) -> pd.DataFrame:
    """Return the answer as a pandas DataFrame.

    Raises:
        MissingExtra: polars, pandas or pyarrow is not installed.
    """
    frame = polars_frame(ask)
    try:
        return frame.to_pandas()
    except ModuleNotFoundError as error:
        raise MissingExtra("frames", module=error.name or "pandas") from error


def _replaced(frame: pl.DataFrame) -> pl.DataFrame:
    """Every bytes column as text, what is not UTF-8 replaced."""
    import polars

    columns = [
        polars.Series(
            column.name, [_text(value) for value in column.to_list()], dtype=_text_type(column.dtype)
        )
        if _text_type(column.dtype) != column.dtype
        else column
        for column in frame.get_columns()
    ]
    return polars.DataFrame(columns)


def _text_type(kind: pl.DataType) -> pl.DataType:
    import polars

    if isinstance(kind, polars.Binary):
        return polars.String()
    if isinstance(kind, polars.List):
        return polars.List(_text_type(_made(kind.inner)))
    if isinstance(kind, polars.Struct):
        return polars.Struct(
            [polars.Field(field.name, _text_type(_made(field.dtype))) for field in kind.fields]
        )
    if kind.is_nested() and isinstance(kind, polars.Map):
        return polars.Map(_text_type(_made(kind.key)), _text_type(_made(kind.value)))
    return kind


def _made(kind: object) -> pl.DataType:
    """Return a type given as its class, as polars allows, made an instance."""
    return kind() if isinstance(kind, type) else kind  # type: ignore[return-value]


def _text(value: object) -> object:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, list):
        return [_text(part) for part in value]
    if isinstance(value, dict):
        return {_text(key): _text(part) for key, part in value.items()}
    return value
