"""The price tables that a collector was ever given, kept in `prices.jsonl` of its directory.

A table applies from the moment it is adopted: whatever arrived earlier keeps the prices of the earlier tables. Each
line is linked to those before it by a hash, so that a price that was altered later is not believed.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from pathlib import Path

from retrospan.ingest.machine.durable_files import Files
from retrospan.ingest.prices.history import link_of, read_adoptions
from retrospan.ingest.prices.price_file import parse_prices, read_price_file
from retrospan.ingest.settings.config import PriceSettings
from retrospan.schemas.errors import ConfigError

PUBLISHED = Path(__file__).with_name("published.toml")
FILE = "prices.jsonl"


def texts_of(settings: PriceSettings) -> dict[str, str]:
    """Return the tables that the settings name, by what errors call them. Raises ConfigError."""
    texts = {str(settings.table): read_price_file(settings.table)} if settings.table is not None else {}
    return texts | ({PUBLISHED.name: PUBLISHED.read_text(encoding="utf-8")} if settings.published else {})


def require_usable(settings: PriceSettings) -> None:
    """Return if the file of prices can be used, or there is none. Raises ConfigError."""
    for name, text in texts_of(settings).items():
        if name != PUBLISHED.name:
            parse_prices(text, name)


def keep_prices(directory: Path, settings: PriceSettings, now: int, files: Files | None = None) -> bool:
    """Note the tables of the settings as in force from now on, if they are not already; True if they are new.

    Lines of an earlier release, which have no links, get them.

    Raises:
        ConfigError: the file of prices, or what was kept, cannot be used.
    """
    path = directory / FILE
    texts = [*texts_of(settings).values()]
    try:
        kept = path.read_text(encoding="utf-8") if path.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read {path}: {error}.") from error
    adoptions = read_adoptions(kept, str(path))
    is_new = (adoptions[-1][1] if adoptions else []) != texts
    if (content := _written(adoptions)) != kept:
        for table in {table for _, tables in adoptions for table in tables}:
            parse_prices(table, str(path))  # nothing vouches for them yet
    if is_new:
        adoptions.append((max(now, adoptions[-1][0] + 1) if adoptions else now, texts))
        content = _written(adoptions)
    if content == kept:
        return False
    try:
        (files or Files()).replace(path, content.encode())
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror}.") from error
    return is_new


def _written(adoptions: Sequence[tuple[int, list[str]]]) -> str:
    lines, link = list[str](), ""
    for at, tables in adoptions:
        link = link_of(link, at, tables)
        lines.append(json.dumps({"adopted_at": at, "tables": tables, "link": link}) + "\n")
    return "".join(lines)


def packed(settings: PriceSettings) -> bytes:
    """Return the history of prices as `unpacked` takes it: what is kept; where nothing is, the tables of the settings.

    Raises ConfigError.
    """
    if settings.kept is None:
        tables = [*texts_of(settings).values()]
        text = json.dumps({"adopted_at": 0, "tables": tables}) if tables else ""
    else:
        try:
            text = settings.kept.read_text(encoding="utf-8")
        except FileNotFoundError:
            text = ""
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"cannot read {settings.kept}: {error}.") from error
        read_adoptions(text, str(settings.kept))
    return zlib.compress(text.encode())
