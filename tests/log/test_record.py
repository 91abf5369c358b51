"""A record of the log as bytes and back."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given

from retrospan.ingest.log.record import Note, Reject, decode, encode, holds_only_spans, items_at
from retrospan.schemas.wire import read_varint

requests = st.none() | st.binary(max_size=200)


@given(
    arrived_at=st.integers(0, 2**63),
    sequence=st.integers(1, 2**63),
    tenant=st.text(max_size=40),
    traces=requests,
    logs=requests,
    rejected=st.lists(st.binary(max_size=20), max_size=3),
    items=st.integers(0, 2**40),
)
def test_a_record_reads_back_as_it_was_and_tells_its_items_without_being_read(
    arrived_at: int,
    sequence: int,
    tenant: str,
    traces: bytes | None,
    logs: bytes | None,
    rejected: list[bytes],
    items: int,
) -> None:
    rejects = [Reject(signal="traces", spans=1, reason="no id", sample=sample) for sample in rejected]
    parts, size = encode(
        arrived_at=arrived_at,
        sequence=sequence,
        tenant=tenant,
        traces=traces,
        logs=logs,
        rejects=rejects,
        items=items,
    )
    framed = b"".join(parts)
    assert len(framed) == size
    length = read_varint(framed, 0, size)
    assert length is not None
    record = decode(framed[length[1] :])
    assert (record.arrived_at, record.sequence, record.tenant) == (arrived_at, sequence, tenant)
    assert (record.traces, record.logs, record.rejects, record.items) == (traces, logs, rejects, items)
    assert items_at(framed, length[1], size) == items


@given(
    records=st.lists(
        st.tuples(requests, requests, st.booleans(), st.booleans(), st.integers(0, 2**20)),
        min_size=1,
        max_size=4,
    )
)
def test_records_of_spans_alone_are_told_from_all_others(
    records: list[tuple[bytes | None, bytes | None, bool, bool, int]],
) -> None:
    data = b""
    for sequence, (traces, logs, is_rejected, is_noted, items) in enumerate(records, 1):
        parts, _ = encode(
            arrived_at=1,
            sequence=sequence,
            tenant="shop",
            traces=traces,
            logs=logs,
            rejects=[Reject(signal="traces", spans=1, reason="no id")] * is_rejected,
            notes=[Note("flag", b"{}")] * is_noted,
            items=items,
        )
        data += b"".join(parts)
    assert holds_only_spans(data) == all(
        traces is not None and logs is None and not is_rejected and not is_noted
        for traces, logs, is_rejected, is_noted, _ in records
    )


def test_bytes_that_are_not_records_do_not_hold_only_spans() -> None:
    parts, size = encode(arrived_at=1, sequence=1, tenant="shop", traces=b"spans", items=3)
    whole = b"".join(parts)
    assert holds_only_spans(whole)
    assert not any(holds_only_spans(whole[:end]) for end in range(1, size))
    assert not holds_only_spans(b"\0")
