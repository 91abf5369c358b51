"""A bundle reads back as it was written, its bytes depend on nothing else, and an altered one is refused by name."""

from __future__ import annotations

import json
import os
import stat
import zipfile
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from bundle.bundles import BUNDLES, message, text_part, weather_bundle, weather_run
from hypothesis import HealthCheck, given, settings

from retrospan.schemas.bundle.container import read_bundle, write_bundle
from retrospan.schemas.bundle.form import Bundle, ModelCall, RunRecord
from retrospan.schemas.errors import BundleDamaged, BundleTooNew, NotABundle, NotFound, PermanentError

PROPERTY = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    write_bundle(tmp_path / "a.bundle", weather_bundle())
    return tmp_path / "a.bundle"


def members(file: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewrite(file: Path, contents: dict[str, bytes], *, digests: bool = False) -> None:
    """Write an archive of these members, with digests that fit if they should."""
    if digests:
        contents["digests.json"] = json.dumps(
            {name: sha256(data).hexdigest() for name, data in contents.items() if name != "digests.json"}
        ).encode()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in contents.items():
            archive.writestr(name, data)


@given(BUNDLES)
@PROPERTY
def test_it_reads_back_as_it_was_and_writes_the_same_bytes(tmp_path: Path, bundle: Bundle) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    write_bundle(first, bundle)
    read = read_bundle(first)
    assert read == bundle
    os.utime(first, (1, 1))
    write_bundle(second, read)
    assert first.read_bytes() == second.read_bytes()


def test_only_its_owner_may_read_it_and_no_half_is_left(file: Path) -> None:
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [each.name for each in file.parent.iterdir()] == [file.name]


def test_a_body_is_there_once_and_readable(file: Path) -> None:
    bodies = {name: data for name, data in members(file).items() if name.startswith("bodies/")}
    questions = [data for data in bodies.values() if b"Paris?" in data]
    assert len(questions) == 1
    assert questions[0].decode().splitlines()[0] == "{"
    assert all(name == f"bodies/{sha256(data).hexdigest()}.json" for name, data in bodies.items())


def test_a_long_conversation_takes_names_by_its_length_not_its_square(tmp_path: Path) -> None:
    history = tuple(message("user", text_part(f"message {n}")) for n in range(1_000))
    calls = tuple(
        ModelCall(n=n, step=n, span_id=None, started_at=n, ended_at=n, messages=history[:n])
        for n in range(1, 1_001)
    )
    bundle = Bundle(made_by="x", rules=None, runs=(RunRecord(run_id="long", calls=calls),))
    write_bundle(tmp_path / "long", bundle)
    assert len(members(tmp_path / "long")["runs/long/calls.jsonl"]) < 1_000 * 1_000
    assert read_bundle(tmp_path / "long") == bundle


@pytest.mark.parametrize(
    "run_id", ["../../etc/passwd", "/etc", "", "a/b", "x" * 70_000, "\ud800", "日本", "a\n"]
)
def test_no_run_id_leads_out_of_the_archive(tmp_path: Path, run_id: str) -> None:
    bundle = Bundle(made_by="x", rules=None, runs=(weather_run(run_id),))
    write_bundle(tmp_path / "odd", bundle)
    assert read_bundle(tmp_path / "odd") == bundle
    for name in members(tmp_path / "odd"):
        assert (
            len(name) < 200
            and name.isascii()
            and ".." not in name
            and "\n" not in name
            and not name.startswith("/")
        )


def test_half_a_surrogate_pair_and_infinities_are_kept_as_json_can(tmp_path: Path) -> None:
    run = replace(weather_run(), question="half \ud83d of one", patch=[float("inf"), float("nan"), -0.5])
    write_bundle(tmp_path / "odd", Bundle(made_by="x", rules=None, runs=(run,)))
    (read,) = read_bundle(tmp_path / "odd").runs
    assert (read.question, read.patch) == ("half \ud83d of one", ["Infinity", "NaN", -0.5])


def test_two_runs_of_one_id_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PermanentError, match=r"both written as runs/a+/run\.json"):
        write_bundle(tmp_path / "x", Bundle(made_by="x", rules=None, runs=(weather_run(), weather_run())))
    assert not list(tmp_path.iterdir())


def test_a_cut_file_is_refused_wherever_it_was_cut(file: Path) -> None:
    whole = file.read_bytes()
    for end in range(2, len(whole), 97):
        file.write_bytes(whole[:end])
        with pytest.raises(BundleDamaged, match="Make it again"):
            read_bundle(file)


def test_a_changed_byte_never_gives_another_bundle(file: Path) -> None:
    whole, bundle = file.read_bytes(), read_bundle(file)
    refused = 0
    for place in range(0, len(whole), 13):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        try:
            # Some bytes of an archive say nothing of its contents, such as when a member was made.
            assert read_bundle(file) == bundle
        except (BundleDamaged, NotABundle):
            refused += 1
    assert refused > len(whole) / 13 / 2


@pytest.mark.parametrize("name", ["bundle.json", "runs/" + "a" * 32 + "/run.json", "bodies/"])
def test_an_edited_member_is_named(file: Path, name: str) -> None:
    contents = members(file)
    edited = next(each for each in contents if each.startswith(name))
    contents[edited] = contents[edited].replace(b"a", b"b", 1)
    if edited == "bundle.json":
        contents[edited] = members(file)[edited].replace(b"0.1.0", b"0.1.1")
    rewrite(file, contents)
    with pytest.raises(BundleDamaged, match=f"{edited} is not what was written") as raised:
        read_bundle(file)
    assert raised.value.member == edited


def test_a_missing_and_an_added_member_are_named(file: Path) -> None:
    contents = members(file)
    rewrite(file, {**contents, "runs/b/run.json": b"{}"})
    with pytest.raises(BundleDamaged, match=r"runs/b/run\.json was added to it"):
        read_bundle(file)
    body = next(name for name in contents if name.startswith("bodies/"))
    rewrite(file, {name: data for name, data in contents.items() if name != body})
    with pytest.raises(BundleDamaged, match=f"{body} is missing"):
        read_bundle(file)
    rewrite(file, {name: data for name, data in contents.items() if name != "digests.json"})
    with pytest.raises(BundleDamaged, match=r"digests\.json is missing"):
        read_bundle(file)


def test_a_call_that_names_a_body_that_is_not_there_is_refused(file: Path) -> None:
    contents = {name: data for name, data in members(file).items() if not name.startswith("bodies/")}
    rewrite(file, contents, digests=True)
    with pytest.raises(BundleDamaged, match="is missing, and a call needs it"):
        read_bundle(file)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (b'"n": 2', b'"n": "two"', "line 2: n should be a whole number, and is a text"),
        (b'"n": 2', b'"n": true', "line 2: n should be a whole number, and is true"),
        (b'"kind": "tool"', b'"kind": "spell"', "line 2: kind should be model or tool"),
        (b'"effect": "read"', b'"effect": "bad"', "effect should be one of none, read, write"),
        (b'"replayable": true', b'"replayable": null', "replayable should be true or false, and is null"),
        (b'"n": 2', b'"n": ' + b"[" * 100_000, "is not JSON|nested too deeply"),
        (b"\n", b"]\n", "is not JSON"),
    ],
)
def test_a_line_of_another_shape_is_named(file: Path, old: bytes, new: bytes, said: str) -> None:
    contents = members(file)
    calls = next(name for name in contents if name.endswith("calls.jsonl"))
    assert old in contents[calls]
    contents[calls] = contents[calls].replace(old, new)
    rewrite(file, contents, digests=True)
    with pytest.raises(BundleDamaged, match=said):
        read_bundle(file)


def test_fields_of_a_later_release_of_this_version_are_passed_over(file: Path) -> None:
    contents = members(file)
    calls = next(name for name in contents if name.endswith("calls.jsonl"))
    contents[calls] = contents[calls].replace(b'"kind": "tool"', b'"kind": "tool", "mood": "fair"')
    contents["later.json"] = b"{}"
    before = read_bundle(file)
    rewrite(file, contents, digests=True)
    assert read_bundle(file) == before


def test_a_newer_version_is_refused_before_anything_else(file: Path) -> None:
    contents = members(file)
    contents["bundle.json"] = contents["bundle.json"].replace(b'"version": 1', b'"version": 2')
    rewrite(file, contents)
    with pytest.raises(BundleTooNew, match=r"of version 2 \(made by retrospan 0\.1\.0\).*Update retrospan"):
        read_bundle(file)


def test_what_is_no_bundle_is_called_so(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    with pytest.raises(NotFound, match="there is no file"):
        read_bundle(file)
    file.write_text("{}")
    with pytest.raises(NotABundle, match="is not a bundle"):
        read_bundle(file)
    file.write_bytes(b"")
    with pytest.raises(NotABundle):
        read_bundle(file)
    rewrite(file, {"word/document.xml": b"<x/>"})
    with pytest.raises(NotABundle, match=r"bundle\.json is missing"):
        read_bundle(file)
    rewrite(file, {"bundle.json": b'{"format": "other", "version": 1}'})
    with pytest.raises(NotABundle, match="does not say"):
        read_bundle(file)
    with pytest.raises(PermanentError, match="cannot be read"):
        read_bundle(tmp_path)


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(PermanentError, match="cannot be written: No such file or directory"):
        write_bundle(tmp_path / "none" / "x", weather_bundle())
