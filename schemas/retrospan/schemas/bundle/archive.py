"""The archive that a bundle is: its members, each held against its digest, and its head. What runs are is not known
here.
"""

from __future__ import annotations

import os
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from struct import Struct

from retrospan.schemas.bundle.fields import Fields, parse
from retrospan.schemas.errors import BundleDamaged, BundleTooNew, NotABundle, NotFound, PermanentError

FORMAT, VERSION = "retrospan bundle", 1
#: Bytes of all members together, and how many times the file they may be where they are more than so many: a small
#: archive can hold anything.
MOST_BYTES = 4 << 30
_MOST_TIMES, _ALWAYS = 200, 256 << 20
HEAD, DIGESTS = "bundle.json", "digests.json"
#: The fixed part of what stands before a member; how long its name and its additions are.
_LOCAL_HEADER = Struct("<26xHH")
_ENCRYPTED = 1


def run_ids_in(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """Return the ids of a bundle's runs, without a look at the runs. Raises what `read_bundle` raises."""
    with opened(path) as archive:
        return archive.run_ids()


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[Archive]:
    """Open the archive of a bundle, and tell of whatever is wrong with it by the name of its file."""
    try:
        data = Path(path).read_bytes()
        if not data.startswith(b"PK"):
            raise NotABundle(f"{path} is not a bundle. `retrospan bundle RUN --out FILE` makes one.")
        with zipfile.ZipFile(BytesIO(data)) as archive:
            yield Archive(archive, data, str(path))
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


def too_much(unpacked: int, packed: int) -> str | None:
    """Return why an archive of so many bytes is not unpacked; None where it is."""
    if unpacked > MOST_BYTES:
        return f"it would take more than {MOST_BYTES >> 30} GiB"
    if unpacked > max(_ALWAYS, _MOST_TIMES * packed):
        return f"it would take {unpacked >> 20:,} MiB, more than {_MOST_TIMES} times its own size"
    return None


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


class Archive:
    """An archive that is being read."""

    def __init__(self, archive: zipfile.ZipFile, data: bytes, path: str) -> None:
        self._archive, self._data, self._path = archive, data, path
        self._digests = dict[str, str]()
        self._read = set[str]()
        self._sizes = {info.filename: info.file_size for info in archive.infolist()}
        # Of every entry: two of one name are two.
        why = too_much(sum(info.file_size for info in archive.infolist()), len(data))
        if why is not None:
            raise BundleDamaged(f"{why}.")

    def run_ids(self) -> tuple[str, ...]:
        return self.head().texts("runs")

    def head(self) -> Fields:
        """Return what the bundle says of itself. Raises NotABundle, BundleTooNew."""
        if HEAD not in self._sizes:
            raise NotABundle(
                f"{self._path} is an archive, but not a bundle: {HEAD} is missing. "
                "`retrospan bundle RUN --out FILE` makes one."
            )
        head = Fields(parse(self._bytes(HEAD), HEAD), HEAD)
        if head.values.get("format") != FORMAT:
            raise NotABundle(f"{self._path} is not a bundle: its {HEAD} does not say “{FORMAT}”.")
        version = head.whole("version")
        if version > VERSION:
            raise BundleTooNew(
                f"{self._path} is of version {version} (made by {head.values.get('made_by')}); this release reads "
                f"up to version {VERSION}. Update retrospan."
            )
        return head

    def check_members(self) -> None:
        """Hold the list of members against the digests; nothing may be missing, twice or added."""
        names = self._archive.namelist()
        if len(names) != len(self._sizes):
            twice = Counter(names).most_common(1)[0][0]
            raise BundleDamaged(f"{twice} is in it twice.", member=twice)
        if DIGESTS not in self._sizes:
            raise BundleDamaged(f"{DIGESTS} is missing.", member=DIGESTS)
        found = Fields(parse(self._bytes(DIGESTS), DIGESTS), DIGESTS)
        self._digests = {name: found.text(name) for name in found.values}
        listed = {*self._digests, DIGESTS}
        for name in sorted(listed ^ self._sizes.keys()):
            what = "is missing" if name in listed else "was added to it"
            raise BundleDamaged(f"{name} {what}.", member=name)
        self.member(HEAD)

    def _bytes(self, name: str) -> bytes:
        size = self._sizes[name]
        info = self._archive.getinfo(name)
        if info.compress_type == zipfile.ZIP_DEFLATED and not info.flag_bits & _ENCRYPTED:
            return _inflated(self._data, info)
        with self._archive.open(name) as member:
            return member.read(size + 1)

    def member(self, name: str) -> bytes | None:
        """Return the bytes of a member that are what they were when it was written, or None if there is none."""
        if name not in self._digests:
            return None
        # Here: the head of a bundle is read without it.
        from hashlib import sha256

        data = self._bytes(name)
        if sha256(data).hexdigest() != self._digests[name]:
            raise BundleDamaged(f"{name} is not what was written.", member=name)
        self._read.add(name)
        return data

    def check_the_rest(self) -> None:
        """Read the members that nothing has read yet: an edit there is one as well."""
        for name in self._digests.keys() - self._read:
            self.member(name)

    def lines(self, name: str) -> Iterator[Fields]:
        """Yield the lines of a member, each an object; none where there is no such member."""
        # Split at the newline alone: other line ends may stand inside texts.
        for number, line in enumerate((self.member(name) or b"").split(b"\n"), 1):
            if line:
                place = f"{name}, line {number}"
                yield Fields(parse(line, place), place)
