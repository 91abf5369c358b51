"""Bundles that somebody made to do harm: bombs, links, histories without end. `test_container` cuts and edits honest ones."""

from __future__ import annotations

import json
import os
import resource
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from bundle.bundles import weather_bundle
from bundle.test_container import members, rewrite

from retrospan.schemas.bundle.archive import run_ids_in
from retrospan.schemas.bundle.container import read_bundle, write_bundle
from retrospan.schemas.errors import BundleDamaged, PermanentError

#: More than any small archive may hold.
MUCH = 300 << 20


@pytest.fixture
def file(tmp_path: Path) -> Path:
    write_bundle(tmp_path / "run.bundle", weather_bundle())
    return tmp_path / "run.bundle"


def bomb(file: Path, name: str, size: int = MUCH) -> None:
    """Add a member of so many blanks, which are packed a thousand times smaller."""
    with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as archive, archive.open(name, "w") as member:
        for _ in range(size >> 20):
            member.write(b" " * (1 << 20))


@pytest.mark.parametrize("name", ["bundle.json", "bodies/0.json"])
@pytest.mark.parametrize("read", [read_bundle, run_ids_in])
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_bomb_is_refused_before_it_is_unpacked(
    file: Path, name: str, read: Callable[[Path], object]
) -> None:
    bomb(file, name)
    assert file.stat().st_size < 2 << 20
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(BundleDamaged, match="it would take 300 MiB, more than 200 times its own size"):
        read(file)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 << 10, "KiB"


def test_a_member_that_holds_more_than_it_says_is_refused(file: Path) -> None:
    whole = file.read_bytes()
    with zipfile.ZipFile(file) as archive:
        info = archive.getinfo("bundle.json")
    # Its size as the directory at the end says it.
    entry = whole.rindex(b"PK\1\2", 0, whole.rindex(b"bundle.json"))
    size = info.file_size.to_bytes(4, "little")
    assert whole[entry + 24 : entry + 28] == size
    file.write_bytes(whole[: entry + 24] + (info.file_size - 1).to_bytes(4, "little") + whole[entry + 28 :])
    with pytest.raises(BundleDamaged, match=r"bundle\.json is cut"):
        read_bundle(file)


def test_a_history_that_names_itself_without_end_is_refused(file: Path) -> None:
    """Each call begins with that before it, twice: forty lines would be 2^40 messages."""
    contents = members(file)
    name = next(each for each in contents if each.endswith("calls.jsonl"))
    first = json.loads(contents[name].split(b"\n")[0])
    lines = [first]
    for n in range(2, 42):
        has = len(first["messages"]) * 2 ** (n - 2)
        again = {"of_call": n - 1, "first": has}
        lines.append({**first, "n": n, "messages": [again, again]})
    contents[name] = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    rewrite(file, contents, digests=True)
    with pytest.raises(BundleDamaged, match="messages goes on with something that is not a name"):
        read_bundle(file)


def test_histories_that_are_longer_than_any_memory_are_refused(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("retrospan.schemas.bundle.lines._MOST_MESSAGES", 100)
    contents = members(file)
    name = next(each for each in contents if each.endswith("calls.jsonl"))
    first = json.loads(contents[name].split(b"\n")[0])
    again = [{"of_call": 1, "first": len(first["messages"])}]
    lines = [first, *({**first, "n": n, "messages": again} for n in range(2, 200))]
    contents[name] = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    rewrite(file, contents, digests=True)
    with pytest.raises(BundleDamaged, match="the calls have more than 100 messages"):
        read_bundle(file)


def test_a_run_that_is_named_a_thousand_times_is_read_not_even_once(file: Path) -> None:
    contents = members(file)
    head = json.loads(contents["bundle.json"])
    contents["bundle.json"] = json.dumps({**head, "runs": head["runs"] * 1000}).encode()
    rewrite(file, contents, digests=True)
    with pytest.raises(BundleDamaged, match=r"bundle\.json names a run twice"):
        read_bundle(file)


@pytest.mark.parametrize(
    "name", ["../out", "/tmp/out", "runs/../../out", "C:\\out", "bodies/../../../out.json"]
)
def test_names_that_lead_out_of_the_archive_lead_nowhere(tmp_path: Path, file: Path, name: str) -> None:
    contents = members(file)
    inside = tmp_path / "inside"
    inside.mkdir()
    rewrite(inside / "run.bundle", {**contents, name: b'{"role": "user", "parts": []}'}, digests=True)
    before = read_bundle(file)
    assert read_bundle(inside / "run.bundle") == before
    assert {each.name for each in tmp_path.iterdir()} == {"inside", "run.bundle"}


@pytest.mark.parametrize("run_id", ["../../etc", "/etc/passwd", "..", "a/../../b"])
def test_a_run_that_names_another_folder_has_none_there(file: Path, run_id: str) -> None:
    contents = members(file)
    head = json.loads(contents["bundle.json"])
    contents["bundle.json"] = json.dumps({**head, "runs": [run_id]}).encode()
    rewrite(file, contents, digests=True)
    with pytest.raises(BundleDamaged, match=r"runs/sha256-[0-9a-f]{64}/run\.json is missing"):
        read_bundle(file)


def test_a_body_is_looked_for_in_the_archive_only(file: Path) -> None:
    contents = members(file)
    name = next(each for each in contents if each.endswith("calls.jsonl"))
    calls = [json.loads(line) for line in contents[name].splitlines()]
    calls[0]["messages"] = ["../../../../etc/passwd"]
    contents[name] = b"".join(json.dumps(line).encode() + b"\n" for line in calls)
    rewrite(file, contents, digests=True)
    with pytest.raises(BundleDamaged, match="is missing, and a call needs it"):
        read_bundle(file)


def test_a_run_is_the_one_that_the_head_names(file: Path) -> None:
    contents = members(file)
    name = next(each for each in contents if each.endswith("run.json"))
    contents[name] = json.dumps({**json.loads(contents[name]), "run_id": "b" * 32}).encode()
    rewrite(file, contents, digests=True)
    with pytest.raises(BundleDamaged, match=r"run\.json is of another run than bundle\.json says"):
        read_bundle(file)


def test_cut_at_every_tenth_of_its_bytes_it_is_refused(file: Path) -> None:
    whole = file.read_bytes()
    for tenth in range(1, 10):
        file.write_bytes(whole[: len(whole) * tenth // 10])
        with pytest.raises(BundleDamaged, match="Make it again"):
            read_bundle(file)


def test_no_byte_of_any_value_gives_an_error_without_a_name(file: Path) -> None:
    """What is not a bundle is refused as such, never with an error of a library."""
    whole, bundle = file.read_bytes(), read_bundle(file)
    refused = 0
    for place in range(0, len(whole), 3):
        for value in (0x00, 0xFF):
            file.write_bytes(whole[:place] + bytes([value]) + whole[place + 1 :])
            try:
                assert read_bundle(file) == bundle
            except PermanentError:
                refused += 1
    assert refused > len(whole) / 3


def test_a_link_that_waits_for_the_half_file_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("kept")
    monkeypatch.setattr(os, "urandom", lambda size: b"\0" * size)
    (tmp_path / f".run.bundle.{os.getpid()}-00000000.part").symlink_to(victim)
    with pytest.raises(PermanentError, match="cannot be written: File exists"):
        write_bundle(tmp_path / "run.bundle", weather_bundle())
    assert victim.read_text() == "kept"


def test_what_nothing_would_read_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retrospan.schemas.bundle.archive._ALWAYS", 10)
    monkeypatch.setattr("retrospan.schemas.bundle.archive._MOST_TIMES", 1)
    with pytest.raises(PermanentError, match="is not written, because it could not be read again"):
        write_bundle(tmp_path / "run.bundle", weather_bundle())
    assert not list(tmp_path.iterdir())
