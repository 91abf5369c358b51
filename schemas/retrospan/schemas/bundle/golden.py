"""Golden runs: a folder with a bundle of one run and a TOML file for each, to be kept with the agent's code."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path

from retrospan.schemas.bundle.container import half_of, read_bundle, write_bundle
from retrospan.schemas.bundle.expectation import check_expectation, unmet
from retrospan.schemas.bundle.form import Bundle, RunRecord
from retrospan.schemas.bundle.sql_expectation import check_sql
from retrospan.schemas.errors import ConfigError, NotFound, PermanentError

#: The folder, where no other is named.
FOLDER = "golden"
_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}")
#: LOCK_EX of `fcntl`, which Windows does not have.
_EXCLUSIVE = 2
_KEYS = ("description", "run_id", "redaction", "expect", "expect_sql", "command", "tools", "run_tools")
#: Those that are texts; the others are lists of texts.
_TEXTS = ("description", "run_id", "redaction")


@dataclass(frozen=True, slots=True, kw_only=True)
class Golden:
    """A golden run: which it is, what it is held to, and how its agent is started."""

    name: str
    run_id: str
    description: str = ""
    expect: tuple[str, ...] = ()
    expect_sql: tuple[str, ...] = ()
    """The same as statements that give one true value."""
    command: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    """Plain functions that are tools, as `module:function`."""
    run_tools: tuple[str, ...] = ()
    """Tools that may run, by the names that models call them."""
    redaction: str | None = None
    """What is taken out of requests before they are compared, and of what an update takes down: off, secrets, all, or a
    TOML file.

    None in files of earlier releases: nothing is taken out of requests, and an update looks at the run.
    """

    def updated(self, run_id: str) -> Golden:
        """Return it with another run in the place of its own."""
        return replace(self, run_id=run_id)

    def unmet(self, run: RunRecord) -> list[str]:
        """Return which expectations a run does not meet, each with what it does instead; those in SQL apart:
        `unmet_offline`.
        """
        found = [(text, unmet(text, run)) for text in self.expect]
        return [f"{text}: {why}" for text, why in found if why is not None]


def check_name(name: str) -> None:
    """Raise ConfigError if this cannot be the name of a golden run: it is the name of files."""
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"'{name}' cannot name a golden run: use letters, digits, '-', '_' and '.', 64 at most."
        )


def bundle_file(folder: Path, name: str) -> Path:
    """Return the file of a golden run's bundle."""
    return folder / f"{name}.bundle"


def names_in(folder: Path) -> list[str]:
    """Return the names of the golden runs of a folder."""
    return sorted(file.stem for file in folder.glob("*.toml") if _NAME.fullmatch(file.stem))


def read_golden(folder: Path, name: str) -> tuple[Golden, Bundle]:
    """Return a golden run with its bundle. Raises NotFound, ConfigError, and what `read_bundle` raises."""
    check_name(name)
    file = folder / f"{name}.toml"
    golden = _golden(file, name, _told(folder, name))
    while True:
        bundle = read_bundle(bundle_file(folder, name))
        if bundle.run(golden.run_id) is not None:
            return golden, bundle
        before, golden = golden, _golden(file, name, _told(folder, name))
        # Else somebody has put another run there meanwhile.
        if golden.run_id == before.run_id:
            raise ConfigError(f"{file} names the run {golden.run_id}, and {name}.bundle does not hold it.")


def _told(folder: Path, name: str) -> dict[str, object]:
    file = folder / f"{name}.toml"
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        known = ", ".join(names_in(folder)) or "none"
        raise NotFound(f"there is no golden run '{name}' in {folder}. There are: {known}.") from error
    except ValueError as error:
        raise ConfigError(f"{file} is not TOML: {error}.") from error


def _golden(file: Path, name: str, told: dict[str, object]) -> Golden:
    for key, value in told.items():
        if key not in _KEYS:
            raise ConfigError(f"{file}: '{key}' is not one of {', '.join(_KEYS)}.")
        is_list = isinstance(value, list) and all(isinstance(each, str) for each in value)
        if not (isinstance(value, str) if key in _TEXTS else is_list):
            raise ConfigError(
                f"{file}: '{key}' should be {'a text' if key in _TEXTS else 'a list of texts'}."
            )
    if "run_id" not in told:
        raise ConfigError(f"{file}: 'run_id' is missing.")

    def texts(key: str) -> tuple[str, ...]:
        value = told.get(key)
        return tuple(map(str, value)) if isinstance(value, list) else ()

    for key, check in (("expect", check_expectation), ("expect_sql", check_sql)):
        for text in texts(key):
            try:
                check(text)
            except ValueError as error:
                raise ConfigError(f"{file}: {key}: {error}.") from error
    return Golden(
        name=name,
        run_id=str(told["run_id"]),
        description=str(told.get("description", "")),
        redaction=str(told["redaction"]) if "redaction" in told else None,
        expect=texts("expect"),
        expect_sql=texts("expect_sql"),
        command=texts("command"),
        tools=texts("tools"),
        run_tools=texts("run_tools"),
    )


def write_golden(folder: Path, golden: Golden, bundle: Bundle, *, is_new: bool = False) -> None:
    """Write a golden run. Raises PermanentError if the files cannot be written, and ConfigError if it `is_new` and
    there is one.

    Whoever reads them meanwhile, or after a kill at any moment, finds the old run whole or the new one: while the old
    run is named, the bundle holds both. Of several that write at a time the last one stays, whole.
    """
    check_name(golden.name)
    lines = [
        f"description = {_text(golden.description)}",
        f"run_id = {_text(golden.run_id)}",
        *([f"redaction = {_text(golden.redaction)}"] if golden.redaction is not None else []),
        *(_list(key, getattr(golden, key)) for key in _KEYS[len(_TEXTS) :] if getattr(golden, key)),
    ]
    file = folder / f"{golden.name}.toml"
    half = half_of(file)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _alone(folder):
            if is_new and file.exists():
                raise ConfigError(f"there is a golden run '{golden.name}' already.")
            old = _named_run(folder, golden.name)
            is_other = old is not None and bundle.run(old.run_id) is None
            both = replace(bundle, runs=(*bundle.runs, old)) if old is not None and is_other else bundle
            write_bundle(bundle_file(folder, golden.name), both)
            half.write_text("\n".join(lines) + "\n", encoding="utf-8", errors="replace")
            os.replace(half, file)
            if is_other:
                write_bundle(bundle_file(folder, golden.name), bundle)
    except OSError as error:
        raise PermanentError(f"{file} cannot be written: {error.strerror or error}.") from error
    finally:
        half.unlink(missing_ok=True)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep other writers, threads and processes, out of a folder; the end of the process lets them in, however it comes.

    Where a folder cannot be locked, as on some shared disks and on Windows, nobody is kept out.
    """
    place = None
    with suppress(ImportError, OSError):
        place = os.open(folder, os.O_RDONLY)
        import_module("fcntl").flock(place, _EXCLUSIVE)
    try:
        yield
    finally:
        if place is not None:
            os.close(place)


def _named_run(folder: Path, name: str) -> RunRecord | None:
    """Return the run that a golden run is now; None where there is none, or none that can be read."""
    try:
        golden, bundle = read_golden(folder, name)
    except PermanentError:
        return None
    return bundle.run(golden.run_id)


def _list(key: str, texts: tuple[str, ...]) -> str:
    return f"{key} = [\n" + "".join(f"    {_text(text)},\n" for text in texts) + "]"


def _text(text: str) -> str:
    """Return a text as TOML writes it: as JSON does, but for one character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
