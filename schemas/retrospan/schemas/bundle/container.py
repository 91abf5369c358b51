"""The file of a bundle: a zip archive whose bytes depend on nothing but what it holds. docs/bundles.md describes it."""

from __future__ import annotations

import os
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from struct import Struct

from retrospan.schemas.bundle.bodies import BodyReader, BodyWriter, line_of, member_of, parse, readable
from retrospan.schemas.bundle.fields import Fields
from retrospan.schemas.bundle.form import Bundle, Call, CheckpointAt, RunRecord, StateAt
from retrospan.schemas.bundle.lines import (
    LineReader,
    LineWriter,
    checkpoint_of,
    state_line,
    state_of,
)
from retrospan.schemas.errors import BundleDamaged, BundleTooNew, NotABundle, NotFound, PermanentError

FORMAT, VERSION = "retrospan bundle", 1
#: Bytes of all members together: a small archive can pretend to hold anything.
MOST_BYTES = 4 << 30
_LEVEL = 6
_HEAD, _DIGESTS = "bundle.json", "digests.json"
#: The fixed part of what stands before a member; how long its name and its additions are.
_LOCAL_HEADER = Struct("<26xHH")
_ENCRYPTED = 1
_PLAIN_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_LISTS = ("calls", "states", "checkpoints", "draws")


def write_bundle(path: str | os.PathLike[str], bundle: Bundle) -> None:
    """Write a bundle; equal bundles give equal bytes. The file is there whole or not at all, and only its owner may read it.

    Raises PermanentError if it cannot be written.
    """
    target = Path(path)
    half = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        descriptor = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "wb") as file, zipfile.ZipFile(file, "w") as archive:
            for name, data in _members(bundle):
                info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
                info.create_system, info.external_attr = 3, 0o600 << 16
                archive.writestr(info, data, zipfile.ZIP_DEFLATED, _LEVEL)
        os.replace(half, target)
    except OSError as error:
        raise PermanentError(
            f"{target} cannot be written: {error.strerror or error}. Choose another file."
        ) from error
    finally:
        half.unlink(missing_ok=True)


def _members(bundle: Bundle) -> Iterator[tuple[str, bytes]]:
    digests = dict[str, str]()
    for name, data in _contents(bundle):
        if name in digests:
            raise PermanentError(f"two runs of the bundle are both written as {name}. Leave one out.")
        digests[name] = sha256(data).hexdigest()
        yield name, data
    yield _DIGESTS, readable(digests)


def _contents(bundle: Bundle) -> Iterator[tuple[str, bytes]]:
    bodies = BodyWriter()
    yield (
        _HEAD,
        readable(
            {
                "format": FORMAT,
                "version": VERSION,
                "made_by": bundle.made_by,
                "rules": bundle.rules,
                "runs": [run.run_id for run in bundle.runs],
            }
        ),
    )
    for run in bundle.runs:
        folder = _folder(run.run_id)
        yield f"{folder}/run.json", readable({name: getattr(run, name) for name in _ABOUT})
        lines = LineWriter(bodies)
        yield f"{folder}/calls.jsonl", b"".join(line_of(lines.of_call(call)) for call in run.calls)
        if run.states:
            yield f"{folder}/states.jsonl", b"".join(line_of(state_line(each, bodies)) for each in run.states)
        if run.checkpoints:
            yield f"{folder}/checkpoints.jsonl", b"".join(line_of(asdict(each)) for each in run.checkpoints)
        if run.draws:
            yield f"{folder}/draws.jsonl", b"".join(line_of(each) for each in run.draws)
    for name in sorted(bodies.texts):
        yield member_of(name), bodies.texts[name]


_ABOUT = tuple(each.name for each in fields(RunRecord) if each.name not in _LISTS)


def _folder(run_id: str) -> str:
    """Return the folder of a run. Ids may be any text, and a name may not lead elsewhere."""
    if _PLAIN_ID.fullmatch(run_id):
        return f"runs/{run_id}"
    return f"runs/sha256-{sha256(run_id.encode('utf-8', 'surrogatepass')).hexdigest()}"


def read_bundle(path: str | os.PathLike[str]) -> Bundle:
    """Read a bundle, and hold every member against its digest.

    Raises:
        NotFound: there is no such file.
        NotABundle: it is something else.
        BundleTooNew: a later release wrote it.
        BundleDamaged: it was cut or edited since.
    """
    with _opened(path) as archive:
        return archive.bundle()


def run_ids_in(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """Return the ids of a bundle's runs, without a look at the runs. Raises what `read_bundle` raises."""
    with _opened(path) as archive:
        return archive.run_ids()


@contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[_Opened]:
    try:
        data = Path(path).read_bytes()
        if not data.startswith(b"PK"):
            raise NotABundle(f"{path} is not a bundle. `retrospan bundle RUN --out FILE` makes one.")
        with zipfile.ZipFile(BytesIO(data)) as archive:
            yield _Opened(archive, data, str(path))
    except FileNotFoundError as error:
        raise NotFound(
            f"there is no file {path}. `retrospan bundle RUN --out FILE` makes a bundle."
        ) from error
    except BundleDamaged as error:
        raise BundleDamaged(
            f"{path}: {error} Make it again with `retrospan bundle`.", member=error.member
        ) from error
    except (
        zipfile.BadZipFile,
        EOFError,
        zlib.error,
        NotImplementedError,
        RuntimeError,
        UnicodeError,
    ) as error:
        raise BundleDamaged(
            f"{path} is cut or damaged: {error}. Make it again with `retrospan bundle`."
        ) from error
    except OSError as error:
        raise PermanentError(f"{path} cannot be read: {error.strerror or error}.") from error


def _inflated(data: bytes, info: zipfile.ZipInfo) -> bytes:
    """Return the bytes of a compressed member. `ZipFile.open` takes ten times as long, and a run has hundreds of members.

    Raises BadZipFile.
    """
    start = info.header_offset + _LOCAL_HEADER.size
    header = data[info.header_offset : start]
    if len(header) < _LOCAL_HEADER.size or not header.startswith(b"PK\3\4"):
        raise zipfile.BadZipFile(f"{info.filename} has no header")
    start += sum(_LOCAL_HEADER.unpack(header))
    inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    found = inflater.decompress(data[start : start + info.compress_size], info.file_size + 1)
    if len(found) != info.file_size or not inflater.eof or zlib.crc32(found) != info.CRC:
        raise zipfile.BadZipFile(f"{info.filename} is cut")
    return found


class _Opened:
    """An archive that is being read."""

    def __init__(self, archive: zipfile.ZipFile, data: bytes, path: str) -> None:
        self._archive, self._data, self._path = archive, data, path
        self._digests = dict[str, str]()
        self._read = set[str]()
        self._sizes = {info.filename: info.file_size for info in archive.infolist()}

    def bundle(self) -> Bundle:
        head = self._head()
        self._check_members()
        bodies = BodyReader(self._member)
        runs = tuple(self._run(run_id, bodies) for run_id in head.texts("runs"))
        # Members that no call names were not read yet: an edit there is one as well.
        for name in self._digests.keys() - self._read:
            self._member(name)
        return Bundle(made_by=head.text("made_by"), rules=head.text_or_none("rules"), runs=runs)

    def run_ids(self) -> tuple[str, ...]:
        return self._head().texts("runs")

    def _head(self) -> Fields:
        if _HEAD not in self._sizes:
            raise NotABundle(
                f"{self._path} is an archive, but not a bundle: {_HEAD} is missing. "
                "`retrospan bundle RUN --out FILE` makes one."
            )
        head = Fields(parse(self._bytes(_HEAD), _HEAD), _HEAD)
        if head.values.get("format") != FORMAT:
            raise NotABundle(f"{self._path} is not a bundle: its {_HEAD} does not say “{FORMAT}”.")
        version = head.whole("version")
        if version > VERSION:
            raise BundleTooNew(
                f"{self._path} is of version {version} (made by {head.values.get('made_by')}); this release reads "
                f"up to version {VERSION}. Update retrospan."
            )
        return head

    def _check_members(self) -> None:
        """Hold the list of members against the digests; nothing may be missing, twice or added."""
        names = self._archive.namelist()
        if len(names) != len(self._sizes):
            twice = next(name for name in names if names.count(name) > 1)
            raise BundleDamaged(f"{twice} is in it twice.", member=twice)
        if sum(self._sizes.values()) > MOST_BYTES:
            raise BundleDamaged(f"it would take more than {MOST_BYTES >> 30} GiB.")
        if _DIGESTS not in self._sizes:
            raise BundleDamaged(f"{_DIGESTS} is missing.", member=_DIGESTS)
        found = Fields(parse(self._bytes(_DIGESTS), _DIGESTS), _DIGESTS)
        self._digests = {name: found.text(name) for name in found.values}
        listed = {*self._digests, _DIGESTS}
        for name in sorted(listed ^ self._sizes.keys()):
            what = "is missing" if name in listed else "was added to it"
            raise BundleDamaged(f"{name} {what}.", member=name)
        self._member(_HEAD)

    def _bytes(self, name: str) -> bytes:
        size = self._sizes[name]
        if size > MOST_BYTES:
            raise BundleDamaged(f"{name} would take {size:,} bytes.", member=name)
        info = self._archive.getinfo(name)
        if info.compress_type == zipfile.ZIP_DEFLATED and not info.flag_bits & _ENCRYPTED:
            return _inflated(self._data, info)
        with self._archive.open(name) as member:
            return member.read(size + 1)

    def _member(self, name: str) -> bytes | None:
        """Return the bytes of a member that are what they were when it was written, or None if there is none."""
        if name not in self._digests:
            return None
        data = self._bytes(name)
        if sha256(data).hexdigest() != self._digests[name]:
            raise BundleDamaged(f"{name} is not what was written.", member=name)
        self._read.add(name)
        return data

    def _run(self, run_id: str, bodies: BodyReader) -> RunRecord:
        folder = _folder(run_id)
        name = f"{folder}/run.json"
        data = self._member(name)
        if data is None:
            raise BundleDamaged(f"{name} is missing.", member=name)
        about = Fields(parse(data, name), name)
        lines = LineReader(bodies)
        calls: tuple[Call, ...] = tuple(lines.call(each) for each in self._lines(f"{folder}/calls.jsonl"))
        states: tuple[StateAt, ...] = tuple(
            state_of(each, bodies) for each in self._lines(f"{folder}/states.jsonl")
        )
        checkpoints: tuple[CheckpointAt, ...] = tuple(
            checkpoint_of(each) for each in self._lines(f"{folder}/checkpoints.jsonl")
        )
        return RunRecord(
            run_id=about.text("run_id"),
            service_name=about.text_or_none("service_name"),
            service_version=about.text_or_none("service_version"),
            agent_name=about.text_or_none("agent_name"),
            agent_version=about.text_or_none("agent_version"),
            conversation_id=about.text_or_none("conversation_id"),
            kind=about.text_or_none("kind"),
            started_at=about.whole_or_none("started_at"),
            ended_at=about.whole_or_none("ended_at"),
            outcome=about.text_or_none("outcome"),
            incomplete_because=about.text_or_none("incomplete_because"),
            parent_run_id=about.text_or_none("parent_run_id"),
            parent_link=about.text_or_none("parent_link"),
            fork_step=about.whole_or_none("fork_step"),
            patch=about.values.get("patch"),
            question=about.text_or_none("question"),
            answer=about.text_or_none("answer"),
            dialects=about.texts("dialects"),
            calls=calls,
            states=states,
            checkpoints=checkpoints,
            draws=tuple(each.values for each in self._lines(f"{folder}/draws.jsonl")),
        )

    def _lines(self, name: str) -> Iterator[Fields]:
        # Split at the newline alone: other line ends may stand inside texts.
        for number, line in enumerate((self._member(name) or b"").split(b"\n"), 1):
            if line:
                place = f"{name}, line {number}"
                yield Fields(parse(line, place), place)
