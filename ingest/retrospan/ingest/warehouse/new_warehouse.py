"""The directory of a new embedded warehouse, as the engine leaves it after every migration and view of this release.

The engine takes two seconds of processor time to make these tables and views statement by statement, and three tenths to
read what it wrote of them. So a new warehouse begins with that: `new_warehouse.json`, made by

    python -m retrospan.ingest.warehouse.new_warehouse

An older one serves as well as the current one: what it lacks is migrated, as in any warehouse of an earlier release.
It has what the engine wrote down of tables, views and functions, and the rows of `schema_migrations`; no others.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import sys
import tempfile
import uuid
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path

from retrospan.ingest.machine.durable_files import Files
from retrospan.queries import catalogue
from retrospan.schemas.migrate import DATABASE, Migrations
from retrospan.schemas.store import Store

_FILE = "new_warehouse.json"
#: The engine's name for a table or a database, which its directory has too, below the first three letters.
_UUID = re.compile(rb"\bUUID '([0-9a-f-]{36})'")
_STATES = "schema_migrations"
#: Where it lies until all of it is on disk, and what of it gets its place last.
_UNFINISHED, _LAST = "laying-out", "metadata"
_SYNCED_AT_ONCE = 8
#: So that what is made twice of the same statements is the same.
_NAMES = uuid.UUID("6f2d4f0a-6a0e-5d0c-9e43-1d1f4a1c7b52")


def lay_out(path: Path) -> bool:
    """Lay out a new warehouse in `path` unless something is there; return whether it was done.

    Returns only after all of it is on disk. What was killed in between begins anew.

    Raises:
        OSError: the disk did not take it.
    """
    disk = Files()
    if not path.is_dir():
        disk.make_directory(path)
    unfinished = path / _UNFINISHED
    there = {each.name for each in path.iterdir()}
    if there and _UNFINISHED not in there:
        return False
    if _LAST not in there:
        # The engine was never here: it is not opened before the name of what is unfinished is gone.
        for name in there:
            shutil.rmtree(path / name)
        _write(unfinished, disk)
        for name in sorted(os.listdir(unfinished), key=lambda name: name == _LAST):
            disk.rename(unfinished / name, path / name)
    unfinished.rmdir()
    return True


def _write(unfinished: Path, disk: Files) -> None:
    told = json.loads((files("retrospan.ingest.warehouse") / _FILE).read_text("utf-8"))
    made: set[Path] = set()
    for name in told["files"]:
        _make_directory((unfinished / name).parent, made)

    def write(name: str, content: str | dict[str, str]) -> None:
        with open(unfinished / name, "wb", opener=_open_own) as file:
            file.write(content.encode() if isinstance(content, str) else base64.b64decode(content["base64"]))
            file.flush()
            disk.sync(file.fileno())

    # Side by side: a disk that is asked for one sync after the other takes ten times as long.
    with ThreadPoolExecutor(_SYNCED_AT_ONCE, thread_name_prefix="retrospan-lay-out") as pool:
        list(pool.map(write, told["files"], told["files"].values()))
    for name, target in told["links"].items():
        (unfinished / name).symlink_to(target)
    for directory in made:
        disk.sync_directory(directory)


def _open_own(name: str, flags: int) -> int:
    return os.open(name, flags | os.O_EXCL | os.O_CLOEXEC, 0o600)


def _make_directory(directory: Path, made: set[Path]) -> None:
    if directory not in made and not directory.is_dir():
        _make_directory(directory.parent, made)
        directory.mkdir(mode=0o700)
        made.add(directory)


def told_of(path: Path, part: str) -> dict[str, object]:
    """Return what a closed warehouse in `path` has written down of its tables, each under a UUID made of its name.

    `part` is the one that holds the rows of `schema_migrations`.
    """
    found = {
        file.relative_to(path).as_posix(): file.read_bytes()
        for file in sorted(path.rglob("*"))
        if file.is_file() and not file.is_symlink() and _is_kept(file, path, part)
    }
    fixed: dict[bytes, bytes] = {}
    for name, content in found.items():
        if name.endswith(".sql") and (uuid_ := _UUID.search(content)):
            fixed[uuid_[1]] = str(uuid.uuid5(_NAMES, Path(name).stem)).encode()
    links = {
        file.relative_to(path).as_posix(): os.readlink(file)
        for file in path.glob("metadata/*")
        if file.is_symlink()
    }
    return {
        "links": {name: _renamed(target, fixed) for name, target in links.items()},
        "files": dict(
            sorted(
                (_renamed(name, fixed), _as_json(_fixed(content, fixed))) for name, content in found.items()
            )
        ),
    }


def _is_kept(file: Path, path: Path, part: str) -> bool:
    top = file.relative_to(path).parts[0]
    if file.suffix == ".sql":
        return top in ("metadata", "store", "user_defined")
    # Beside the rows stands how they are laid out; for a table without any the engine writes that itself.
    return file.parent.name == part or (file.parent / part).is_dir()


def _fixed(content: bytes, fixed: dict[bytes, bytes]) -> bytes:
    return _UUID.sub(lambda found: b"UUID '" + fixed.get(found[1], found[1]) + b"'", content)


def _renamed(name: str, fixed: dict[bytes, bytes]) -> str:
    """Return a path below `store/` as it is under the other UUID."""
    parts = name.split("/")
    for place, part in enumerate(parts):
        if new := fixed.get(part.encode()):
            parts[place - 1 : place + 1] = [new[:3].decode(), new.decode()]
    return "/".join(parts)


def _as_json(content: bytes) -> str | dict[str, str]:
    try:
        return content.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode()}


def build(store: Store) -> str:
    """Make every table and view of this release in an empty database, statement by statement.

    Return the part that holds the rows of `schema_migrations`: the engine takes away those of before at leisure.
    """
    Migrations(store).apply()
    catalogue.install(store)
    store.command(f"OPTIMIZE TABLE {_STATES} FINAL")
    ((part,),) = store.rows(
        "SELECT name FROM system.parts WHERE database = {database:String} AND table = {table:String} AND active",
        {"database": DATABASE, "table": _STATES},
    )
    return str(part)


def main() -> int:
    from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse

    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory) / "warehouse"
        warehouse = EmbeddedWarehouse(place)
        part = build(warehouse.connect())
        warehouse.close()
        told = told_of(place, part)
    target = Path(__file__).with_name(_FILE)
    target.write_text(json.dumps(told, ensure_ascii=False, indent=0, sort_keys=True) + "\n", "utf-8")
    sys.stdout.write(f"{target.name} is as {DATABASE} is now\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
