"""The agent does again what the golden run has on record."""

import agent
import pytest

from retrospan.exporter.replay.pytest_plugin import Replayed


@pytest.mark.golden("refund")
def test_a_refund_that_no_document_tells_of(replayed: Replayed) -> None:
    assert "colleague" in agent.answer(replayed.question or "")
