"""The file of a bundle: a zip archive whose bytes depend on nothing but what it holds. docs/bundles.md describes it."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Iterator
from dataclasses import asdict, fields
from hashlib import sha256
from pathlib import Path

from retrospan.schemas.bundle.archive import DIGESTS, FORMAT, HEAD, VERSION, Archive, opened, too_much
from retrospan.schemas.bundle.bodies import BodyReader, BodyWriter, line_of, member_of, readable
from retrospan.schemas.bundle.fields import Fields, parse
from retrospan.schemas.bundle.form import Bundle, Call, CheckpointAt, RunRecord, StateAt
from retrospan.schemas.bundle.lines import (
    LineReader,
    LineWriter,
    checkpoint_of,
    state_line,
    state_of,
)
from retrospan.schemas.errors import BundleDamaged, PermanentError

_LEVEL = 6
_PLAIN_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_LISTS = ("calls", "states", "checkpoints", "draws", "checkpoint_records")


def write_bundle(path: str | os.PathLike[str], bundle: Bundle) -> None:
    """Write a bundle; equal bundles give equal bytes. The file is there whole or not at all, and only its owner may
    read it.

    Raises PermanentError if it cannot be written.
    """
    target = Path(path)
    half = half_of(target)
    unpacked = 0
    try:
        # Never a file, or a link, that somebody else has put there.
        descriptor = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "wb") as file, zipfile.ZipFile(file, "w") as archive:
            for name, data in _members(bundle):
                unpacked += len(data)
                info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
                info.create_system, info.external_attr = 3, 0o600 << 16
                archive.writestr(info, data, zipfile.ZIP_DEFLATED, _LEVEL)
        if (why := too_much(unpacked, half.stat().st_size)) is not None:
            raise PermanentError(
                f"{target} is not written, because it could not be read again: {why}. Take fewer runs."
            )
        os.replace(half, target)
    except OSError as error:
        raise PermanentError(
            f"{target} cannot be written: {error.strerror or error}. Choose another file."
        ) from error
    finally:
        half.unlink(missing_ok=True)


def half_of(target: Path) -> Path:
    """Return the name that a file has while it is written: another one for whoever writes it at the same time."""
    return target.with_name(f".{target.name}.{os.getpid()}-{os.urandom(4).hex()}.part")


def _members(bundle: Bundle) -> Iterator[tuple[str, bytes]]:
    digests = dict[str, str]()
    for name, data in _contents(bundle):
        if name in digests:
            raise PermanentError(f"two runs of the bundle are both written as {name}. Leave one out.")
        digests[name] = sha256(data).hexdigest()
        yield name, data
    yield DIGESTS, readable(digests)


def _contents(bundle: Bundle) -> Iterator[tuple[str, bytes]]:
    bodies = BodyWriter()
    yield (
        HEAD,
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
        if run.checkpoint_records:
            name = f"{folder}/checkpoint_records.jsonl"
            yield name, b"".join(line_of(each) for each in run.checkpoint_records)
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
    with opened(path) as archive:
        return _bundle(archive)


def _bundle(archive: Archive) -> Bundle:
    head = archive.head()
    archive.check_members()
    bodies = BodyReader(archive.member)
    run_ids = head.texts("runs")
    if len({*run_ids}) != len(run_ids):
        raise BundleDamaged(f"{HEAD} names a run twice.", member=HEAD)
    runs = tuple(_run(archive, run_id, bodies) for run_id in run_ids)
    archive.check_the_rest()
    return Bundle(made_by=head.text("made_by"), rules=head.text_or_none("rules"), runs=runs)


def _run(archive: Archive, run_id: str, bodies: BodyReader) -> RunRecord:
    folder = _folder(run_id)
    name = f"{folder}/run.json"
    data = archive.member(name)
    if data is None:
        raise BundleDamaged(f"{name} is missing.", member=name)
    about = Fields(parse(data, name), name)
    if about.text("run_id") != run_id:
        raise BundleDamaged(f"{name} is of another run than {HEAD} says.", member=name)
    lines = LineReader(bodies)
    calls: tuple[Call, ...] = tuple(lines.call(each) for each in archive.lines(f"{folder}/calls.jsonl"))
    states: tuple[StateAt, ...] = tuple(
        state_of(each, bodies) for each in archive.lines(f"{folder}/states.jsonl")
    )
    checkpoints: tuple[CheckpointAt, ...] = tuple(
        checkpoint_of(each) for each in archive.lines(f"{folder}/checkpoints.jsonl")
    )
    return RunRecord(
        run_id=run_id,
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
        draws=tuple(each.values for each in archive.lines(f"{folder}/draws.jsonl")),
        checkpoint_records=tuple(
            {name: each.text(name) for name in ("checkpoint_id", "content", "redacted")}
            for each in archive.lines(f"{folder}/checkpoint_records.jsonl")
        ),
    )
