"""The price tables that a collector was ever given, kept in `prices.jsonl` of its directory.

A table applies from the moment it is adopted: whatever arrived earlier keeps the prices of the earlier tables.
"""

from __future__ import annotations

import json
import zlib
from pathlib import Path

from retrospan.ingest.config import PriceSettings
from retrospan.ingest.durable_files import Files
from retrospan.ingest.prices.history import read_adoptions
from retrospan.ingest.prices.price_file import parse_prices, read_price_file
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
    if (adoptions[-1][1] if adoptions else []) == texts:
        return False
    at = max(now, adoptions[-1][0] + 1) if adoptions else now
    line = json.dumps({"adopted_at": at, "tables": texts})
    try:
        (files or Files()).replace(path, f"{kept}{line}\n".encode())
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror}.") from error
    return True


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
