"""Where settings come from: flags, the process's variables, a TOML file. Each value keeps the place it was given at.

Standard library only.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from retrospan.ingest.settings.trusted_file import require_trusted
from retrospan.schemas.errors import ConfigError

#: The page that lists every setting.
PAGE = "docs/configuration.md"
#: Variables of ours that are not settings of a collector.
_OTHERS = re.compile(r"RETROSPAN_(CONFIG|URL|TOKEN|CA|CERTIFICATE|KEY|PAGER|VALUE_LIMIT_BYTES|EXPORTER_.*)")
#: Variables that Kubernetes sets in every container beside a service that is called retrospan, or retrospan-….
_OF_KUBERNETES = re.compile(r"RETROSPAN_(.*_)?(SERVICE_HOST|SERVICE_PORT(_.*)?|PORT(_.*)?)")


@dataclass(frozen=True, slots=True)
class Given:
    """A value as it was given, and where: `--grpc`, `RETROSPAN_GRPC`, `FILE line 3`."""

    value: object
    source: str


def variable(key: str) -> str:
    """Return the environment variable of a key."""
    return "RETROSPAN_" + key.replace(".", "_").upper()


def unknown_variables(environ: Mapping[str, str], keys: Collection[str]) -> list[str]:
    """Return the variables that begin as ours do, and that nothing of ours reads."""
    known = {variable(key) for key in keys}
    return sorted(
        name
        for name in environ
        if name.startswith("RETROSPAN_")
        and name not in known
        and not _OTHERS.fullmatch(name)
        and not _OF_KUBERNETES.fullmatch(name)
    )


def given_settings(
    keys: Collection[str], arguments: Mapping[str, object], environ: Mapping[str, str], file: Path | None
) -> dict[str, Given]:
    """Return what is given for each key: by a flag, else a variable, else the file.

    Raises:
        ConfigError: a key that is not a setting, a variable that is nearly the name of one, a file that cannot be read.
    """
    found = dict(_of_file(file, keys)) if file else {}
    names = {variable(key): key for key in keys}
    for name in unknown_variables(environ, keys):
        if near := get_close_matches(name[10:], [known[10:] for known in names], 1, 0.75):
            raise ConfigError(
                f"unknown variable {name!r}. Did you mean 'RETROSPAN_{near[0]}'? {PAGE} lists them."
            )
    found |= {key: Given(environ[name], name) for name, key in names.items() if environ.get(name)}
    for key, value in arguments.items():
        if value is not None:
            _require_known(key, keys, "the flags")
            found[key] = Given(value, f"--{key.replace('_', '-')}")
    return found


def _require_known(key: str, keys: Collection[str], place: str) -> None:
    if key not in keys:
        near = get_close_matches(key, keys, 1, 0.5)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ConfigError(f"unknown key {key!r} in {place}.{hint} {PAGE} lists them.")


def _of_file(file: Path, keys: Collection[str]) -> Iterator[tuple[str, Given]]:
    require_trusted(file)
    try:
        text = file.read_text(encoding="utf-8")
        tree = tomllib.loads(text)
    except OSError as error:
        raise ConfigError(f"cannot read {file}: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} is not TOML: {error}.") from error

    def walk(table: Mapping[str, object], prefix: str) -> Iterator[tuple[str, Given]]:
        for name, value in table.items():
            key = prefix + name
            if isinstance(value, dict) and any(known.startswith(key + ".") for known in keys):
                yield from walk(value, key + ".")
            else:
                place = f"{file} line {_line(text, key)}"
                _require_known(key, keys, place)
                yield key, Given(value, place)

    return walk(tree, "")


def _line(text: str, key: str) -> int:
    """Return the line of the file that sets the key, or opens the table of that name."""
    section = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if heading := re.match(r"\s*\[\s*([^\]]+?)\s*\]", line):
            section = heading[1].replace('"', "") + "."
            if section == key + ".":
                return number
        elif (setting := re.match(r'\s*"?([\w.-]+)"?\s*=', line)) and section + setting[1] == key:
            return number
    return 1
