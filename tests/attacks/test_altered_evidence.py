"""Whoever alters what is stored, on a stopped directory and knowing every checksum, is found out by `verify --full`.

Each alteration is made as an intruder with all rights and this source code makes it: rows by the engine itself, records
and the ledger with fresh checksums, the archive compressed anew. Each must be named by its place, and nothing else.
"""

from __future__ import annotations

import json
import re
import shutil
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attacks.altered_directory import alter
from fix_collector import Served
from forging import content_of, write_archive
from keeping import agent_run, trace_of
from verified import Verified, ask, verify

from retrospan.ingest.log.archive import archived_in
from retrospan.ingest.log.segment import Segment

KEPT = 16
CALL = "0202020202020202"


def of(number: int, table: str = "raw_spans") -> str:
    """The rows of one run that is kept."""
    run = trace_of(f"keep-{number}")
    return f"run_id = '{run}'" if table.startswith("canon_") else f"trace_id = '{run}' AND span_id = '{CALL}'"


MESSAGES = "gen_ai.input.messages"
_ATTRIBUTES = (
    "attributes = arrayMap(a -> CAST((a.1, a.2, if(a.1 = '{key}', replaceAll(a.3, '{old}', '{new}'), a.3)), "
    "toTypeName(a)), attributes)"
)


def attribute(number: int, key: str, old: str, new: str) -> str:
    changed = _ATTRIBUTES.format(key=key, old=old, new=new)
    return f"ALTER TABLE raw_spans UPDATE {changed} WHERE {of(number)}"


ROWS: dict[str, tuple[tuple[str, ...], str, str]] = {
    "the recipient in an attribute of a span": (
        (attribute(0, MESSAGES, "question keep-0", "pay to eve"),),
        f"raw_spans, span {CALL} of trace {trace_of('keep-0')}",
        re.escape(f"attributes['{MESSAGES}'] is different in record"),
    ),
    "the name of a span": (
        (f"ALTER TABLE raw_spans UPDATE name = 'chat2' WHERE {of(1)}",),
        f"raw_spans, span {CALL} of trace {trace_of('keep-1')}",
        "^name is different in",
    ),
    "the times of a span": (
        (f"ALTER TABLE raw_spans UPDATE started_ns = started_ns - 1, ended_ns = ended_ns + 1 WHERE {of(2)}",),
        f"raw_spans, span {CALL} of trace {trace_of('keep-2')}",
        "^started_ns, ended_ns are different in",
    ),
    "when a span arrived, and by which record": (
        (
            f"INSERT INTO raw_spans SELECT * REPLACE(arrived_at - toIntervalHour(1) AS arrived_at) FROM (SELECT * FROM raw_spans WHERE {of(3)})",
            f"ALTER TABLE raw_spans DELETE WHERE {of(3)} AND arrived_at > (SELECT min(arrived_at) FROM raw_spans WHERE {of(3)})",
        ),
        f"raw_spans, span {CALL} of trace {trace_of('keep-3')}",
        "^arrived_at is different in",
    ),
    "a span deleted": (
        (f"ALTER TABLE raw_spans DELETE WHERE {of(4)}",),
        f"raw_spans, span {CALL} of trace {trace_of('keep-4')}",
        "but not stored$",
    ),
    "a span added that no record holds": (
        (
            f"INSERT INTO raw_spans SELECT * REPLACE('ffffffffffffffff' AS span_id) FROM (SELECT * FROM raw_spans WHERE {of(5)})",
        ),
        f"raw_spans, span f{{16}} of trace {trace_of('keep-5')}",
        "^is stored, but not in record",
    ),
    "a span added under a record that the log never had": (
        (
            f"INSERT INTO raw_spans SELECT * REPLACE('eeeeeeeeeeeeeeee' AS span_id, 777777 AS sequence) FROM (SELECT * FROM raw_spans WHERE {of(5)})",
        ),
        "raw_spans, record 777777",
        "the log does not have this record",
    ),
    "two spans that changed places": (
        (
            f"INSERT INTO raw_spans SELECT * REPLACE('{trace_of('keep-7')}' AS trace_id) FROM (SELECT * FROM raw_spans WHERE {of(6)})",
            f"INSERT INTO raw_spans SELECT * REPLACE('{trace_of('keep-6')}' AS trace_id) FROM "
            + f"(SELECT * FROM raw_spans WHERE {of(7)} AND has(arrayMap(a -> a.3 LIKE '%keep-7%', attributes), 1))",
            f"ALTER TABLE raw_spans DELETE WHERE {of(6)} AND has(arrayMap(a -> a.3 LIKE '%keep-6%', attributes), 1)",
            f"ALTER TABLE raw_spans DELETE WHERE {of(7)} AND has(arrayMap(a -> a.3 LIKE '%keep-7%', attributes), 1)",
        ),
        f"raw_spans, span {CALL} of trace ({trace_of('keep-6')}|{trace_of('keep-7')})",
        "record",
    ),
    "the text of a log record": (
        ("ALTER TABLE raw_logs UPDATE body = CAST((body.1, 'sent to bob'), toTypeName(body)) WHERE 1",),
        "^raw_logs",
        "^body is different in",
    ),
    "why something was refused": (
        ("ALTER TABLE raw_rejects UPDATE reason = 'nothing' WHERE 1",),
        "^raw_rejects",
        "^reason is different in",
    ),
    "an arrival": (
        (f"ALTER TABLE arrivals DELETE WHERE trace_id = '{trace_of('keep-15')}'",),
        f"^arrivals.*{trace_of('keep-15')}",
        "but not stored",
    ),
    "a flag": (
        ("ALTER TABLE run_marks UPDATE is_set = false WHERE 1",),
        f"^run_marks.*{trace_of('keep-0')}",
        "^is_set is different in",
    ),
    "the recipient in a derived value": (
        (
            f"ALTER TABLE canon_values UPDATE json = replaceAll(json, 'keep-8', 'eve') WHERE {of(8, 'canon_values')}",
        ),
        f"^canon_values, run {trace_of('keep-8')}",
        "json",
    ),
    "what a run answered": (
        (f"ALTER TABLE canon_runs UPDATE output = 'paid' WHERE {of(9, 'canon_runs')}",),
        f"^canon_runs, run {trace_of('keep-9')}",
        "^output is not",
    ),
    "a step deleted": (
        (f"ALTER TABLE canon_steps DELETE WHERE {of(10, 'canon_steps')}",),
        f"^canon_steps, run {trace_of('keep-10')}",
        "not stored",
    ),
    "the model of a call": (
        (
            f"ALTER TABLE canon_model_calls UPDATE response_model = 'm-9', request_model = 'm-9' WHERE {of(11, 'canon_model_calls')}",
        ),
        f"^canon_model_calls, run {trace_of('keep-11')}",
        "model",
    ),
    "what is known of a span": (
        (f"ALTER TABLE canon_spans UPDATE operation = 'other' WHERE trace_id = '{trace_of('keep-12')}'",),
        f"^canon_spans, trace {trace_of('keep-12')}",
        "^operation is not",
    ),
    "a run that nobody sent": (
        (
            f"INSERT INTO canon_runs SELECT * REPLACE('{trace_of('nobody')}' AS run_id) FROM (SELECT * FROM canon_runs WHERE {of(13, 'canon_runs')})",
        ),
        f"^canon_runs, run {trace_of('nobody')}",
        "no stored span produces it",
    ),
    "a receipt": (
        ("ALTER TABLE receipts UPDATE rule = 'nobody asked' WHERE number = 3",),
        "^receipts",
        "number 3|receipt 3|stored differently from the log",
    ),
    "the row of a batch": (
        ("ALTER TABLE loaded_batches UPDATE items = items + 1 WHERE number = 2",),
        "^batches 2",
        "batch 2 was changed",
    ),
}
#: What an alteration of raw rows makes of rows that are derived from them, and runs that are touched.
TOUCHED = [*(f"keep-{number}" for number in range(13)), "keep-15", "nobody"]


@pytest.mark.long
def test_a_directory_that_nobody_altered_is_as_it_was_written(original: Path, tmp_path: Path) -> None:
    shutil.copytree(original, tmp_path / "data", symlinks=True)
    found = verify(tmp_path / "data")
    assert not found.wrong, found.wrong
    assert found.health["status"] == "ok", found.health["reasons"]
    covered = {line["part"]: line["covered"] for line in found.lines if "covered" in line}
    assert covered["raw rows"]["raw_spans"] == 2 * (KEPT + 2 + 4)
    assert covered["raw rows"]["raw_logs"] == covered["raw rows"]["raw_rejects"] == 1
    assert covered["raw rows"]["run_marks"] == 1
    assert covered["log"]["segments_by_receipt"] >= 3 and covered["log"]["batches_by_receipt"]
    assert covered["derived rows"]["runs"] >= 16


@pytest.fixture(scope="module")
def altered(original: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Verified]:
    """What is said when all of the rows were altered."""
    data = tmp_path_factory.mktemp("altered") / "data"
    shutil.copytree(original, data, symlinks=True)
    alter(data, *(statement for statements, _, _ in ROWS.values() for statement in statements))
    yield verify(data)


@pytest.mark.long
@pytest.mark.parametrize("alteration", ROWS)
def test_altered_rows_are_named(altered: Verified, alteration: str) -> None:
    _, place, what = ROWS[alteration]
    assert altered.names(place, what), f"{alteration}: {place} {what}\n" + "\n".join(
        map(str, altered.wrong.items())
    )


@pytest.mark.long
def test_rows_that_nobody_altered_are_not_named(altered: Verified) -> None:
    runs = {trace_of(name) for name in TOUCHED}
    for where in altered.wrong:
        named = re.findall(r"(?:run|trace|run_id|trace_id) ([0-9a-f]{32})\b", where)
        assert all(run in runs for run in named), where


REMOVED_ALONE = [pytest.param(name, marks=pytest.mark.soak) for name in ("ledger", "hashes")]
RECIPIENT = b"answer late-2"


def forge_log(data: Path) -> int:
    """Change a value in the newest segment, with a fresh checksum; returns its record."""
    (path,) = (data / "log").glob("*.seg")
    segment = Segment(path, int(path.name[:20]), size=path.stat().st_size)
    content, sequence = content_of(segment, RECIPIENT, b"answer EVIL-2")
    path.write_bytes(content)
    return sequence


def ledger_lines(data: Path) -> list[dict[str, Any]]:
    text = (data / "log" / "batches.jsonl").read_text()
    return [json.loads(line.partition(" ")[2]) for line in text.splitlines()]


def write_ledger(data: Path, lines: list[dict[str, Any]]) -> None:
    """Write the ledger anew with checksums that fit."""
    texts = [json.dumps(line, separators=(",", ":")).encode() for line in lines]
    (data / "log" / "batches.jsonl").write_bytes(
        b"".join(b"%08x %b\n" % (zlib.crc32(text), text) for text in texts)
    )


@pytest.mark.long
def test_a_value_in_the_log_with_a_fresh_checksum_is_named(data: Path) -> None:
    sequence = forge_log(data)
    found = verify(data)
    assert found.names(
        rf"log/\d{{20}}\.seg, records \d+-{sequence + 1}|log/.*records", "do not match the hash of"
    ), found.wrong
    named = [line for line in found.lines if line.get("part") == "log" and line.get("wrong")]
    assert all(line["first_record"] <= sequence <= line["last_record"] for line in named)
    assert found.names("^raw_spans.*" + trace_of("late-2"), rf"gen_ai.output.messages.*record {sequence} ")


@pytest.mark.soak
def test_a_value_in_the_log_is_named_after_the_derived_files_were_removed(data: Path) -> None:
    sequence = forge_log(data)
    shutil.rmtree(data / "warehouse")
    served = Served(data, data.parent / "stderr.txt")
    try:
        served.wait_idle()
        # Also without being asked: /health has a reason.
        served.until(lambda: any("do not match the hash" in reason for reason in served.health()["reasons"]))
        found = ask(served)
        assert found.names("log/.*records", "do not match the hash of line"), found.wrong
        # A rebuild takes the log for the truth, and the hashes stay what they were.
        served.run("rebuild")
        served.wait_idle()
        assert ask(served).names("log/.*records", "do not match the hash of line")
    finally:
        served.kill()
    again = verify(data)
    assert again.names("log/.*records", "do not match the hash of line")
    assert any("do not match the hash" in reason for reason in again.health["reasons"])
    assert sequence


@pytest.mark.parametrize(
    "removed", [*REMOVED_ALONE, pytest.param("ledger and hashes", marks=pytest.mark.long)]
)
def test_files_that_were_removed_beside_the_log_are_missed(data: Path, removed: str) -> None:
    forge_log(data)
    shutil.rmtree(data / "warehouse")
    if "ledger" in removed:
        (data / "log" / "batches.jsonl").unlink()
    if "hashes" in removed:
        (data / "log" / "hashes").unlink()
    found = verify(data)
    if "ledger" in removed:
        assert found.names("log/batches.jsonl", "was missing when the collector started"), found.wrong
    if "hashes" in removed:
        assert found.names("log/hashes", "was missing when the collector started"), found.wrong
    assert any("was missing" in reason for reason in found.health["reasons"]), found.health["reasons"]


@pytest.mark.long
def test_an_archive_that_was_recompressed_is_named(data: Path) -> None:
    segments = archived_in(data / "log")
    for segment in segments:
        try:
            content, sequence = content_of(segment, b"question keep-2", b"question EVIL-2")
        except AssertionError:
            continue
        write_archive(segment, content)
        break
    else:
        raise AssertionError("no archive holds it")
    found = verify(data)
    assert found.names(f"log/archive/{segment.path.name}", "receipt"), found.wrong
    assert found.names("^raw_spans.*" + trace_of("keep-2"), f"record {sequence} ")


@pytest.mark.long
def test_an_archive_that_was_removed_as_if_retention_had_done_it_is_named(data: Path) -> None:
    segment = archived_in(data / "log")[1]
    segment.path.unlink()
    (data / "log" / "archive" / "removed").write_text(f"{segment.first} {segment.last}\n")
    found = verify(data)
    assert found.names(f"log/archive/{segment.path.name}", "is missing"), found.wrong


@pytest.mark.long
def test_a_ledger_with_fresh_checksums_is_named(data: Path) -> None:
    lines = ledger_lines(data)
    forged = [{**line, "loaded": line["loaded"] - 1} if "loaded" in line else line for line in lines]
    write_ledger(data, [line for line in forged if "counted" not in line])
    found = verify(data)
    assert found.wrong, "a record is loaded twice, under another number"
    assert found.names("^batches, number", "holds records from"), found.wrong


@pytest.mark.long
def test_a_damaged_ledger_is_named_though_nothing_is_lost_with_it(data: Path) -> None:
    path = data / "log" / "batches.jsonl"
    content = bytearray(path.read_bytes())
    content[content.index(b'"loaded"') + 10] ^= 1
    path.write_bytes(content)
    found = verify(data)
    assert list(found.wrong) == ["log/batches.jsonl"], found.wrong
    assert found.names("log/batches.jsonl", "a line could not be read")
    assert any("a line could not be read" in reason for reason in found.health["reasons"])
    assert not verify(data).wrong


@pytest.mark.soak
def test_a_quarantine_that_never_was_is_named(data: Path) -> None:
    lines = ledger_lines(data)
    write_ledger(data, [*lines, {"quarantined": {"sequence": 2, "reason": "Code: 1"}}])
    assert verify(data).names("log/batches.jsonl, record 2", "can be read")


@pytest.mark.soak
def test_hashes_that_were_rewritten_are_named(data: Path) -> None:
    path = data / "log" / "hashes"
    lines = path.read_text().splitlines()
    lines[-1] = re.sub(r"[0-9a-f]{64}", "0" * 64, lines[-1])
    path.write_text("\n".join(lines) + "\n")
    assert verify(data).names("records", rf"do not match the hash of line {len(lines)} of log/hashes")
    path.write_text("\n".join(lines[:3]) + "\n")
    assert verify(data).names("log/hashes", "ends with record")


@pytest.mark.soak
def test_a_head_kept_elsewhere_reveals_a_directory_that_was_rebuilt(original: Path, data: Path) -> None:
    before = verify(data, "--full")
    assert not before.wrong

    def send_more(served: Served) -> None:
        served.send([agent_run("later", "ok")])
        served.wait_idle()

    later = verify(data, "--expect", before.head, before=send_more)
    assert not later.wrong and later.head != before.head, "what it went on from is there still"
    assert not verify(data, "--expect", later.head).wrong
    # Everything that could tell is removed, the log's own beginning as well.
    forge_log(data)
    shutil.rmtree(data / "warehouse")
    for name in ("batches.jsonl", "hashes"):
        (data / "log" / name).unlink()
    assert verify(data, "--expect", before.head).names("the expected head", "do not match|ends at line")
