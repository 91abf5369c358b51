"""Prices in a running collector: a new table changes no past run, and a rebuild gives equal rows."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from fix_collector import Served
from keeping import Keeper, agent_run, trace_of
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from retrospan.ingest.prices.history import unpacked
from retrospan.ingest.prices.kept_prices import FILE, keep_prices, packed
from retrospan.ingest.settings.config import PriceSettings
from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse
from retrospan.schemas.errors import ConfigError

TABLE = """
name = "acme"
currency = "USD"
[[price]]
provider = "acme"
models = "m-1"
per_million = { input = 2, output = 10 }
"""
DEARER = TABLE.replace("input = 2", "input = 3")
COSTS = "SELECT run_id, bucket, tokens, price, currency, price_list, amount, unknown FROM cost ORDER BY ALL"
RUNS = "SELECT run_id, toString(cost) AS cost, currency, cost_unknown FROM runs ORDER BY run_id"


def spent(name: str) -> bytes:
    """The export request of a run whose model call took 1,000 tokens and gave 100."""
    request = ExportTraceServiceRequest.FromString(agent_run(name, "ok"))
    call = request.resource_spans[0].scope_spans[0].spans[1]
    told = [
        each
        for each in call.attributes
        if not each.key.startswith(("gen_ai.request.model", "gen_ai.provider"))
    ]
    del call.attributes[:]
    call.attributes.extend(told)
    for key, text in (("gen_ai.provider.name", "acme"), ("gen_ai.request.model", "m-1")):
        call.attributes.add(key=key).value.string_value = text
    for key, number in (("gen_ai.usage.input_tokens", 1_000), ("gen_ai.usage.output_tokens", 100)):
        call.attributes.add(key=key).value.int_value = number
    return request.SerializeToString()


@pytest.mark.long
def test_a_new_table_changes_no_past_run(tmp_path: Path) -> None:
    prices, config = tmp_path / "prices.toml", tmp_path / "config.toml"
    prices.write_text(TABLE)
    config.write_text(f'[prices]\ntable = "{prices}"\n')
    served = Served(tmp_path / "data", tmp_path / "stderr.txt", "--config", str(config))
    try:
        served.send([spent("before")])
        served.until(lambda: len(served.rows("SELECT run_id FROM runs")) == 1)
        served.wait_idle()
        (before,) = served.rows(RUNS)
        assert (before["cost"], before["currency"]) == ("0.003", "USD")
        lines = served.rows(COSTS)

        prices.write_text(DEARER)
        served.stop()
        served.start()
        served.send([spent("after")])
        served.until(lambda: len(served.rows("SELECT run_id FROM runs")) == 2)
        served.wait_idle()
        both = {row["run_id"]: row["cost"] for row in served.rows(RUNS)}
        assert both == {trace_of("before"): "0.003", trace_of("after"): "0.004"}
        assert [row for row in served.rows(COSTS) if row["run_id"] == trace_of("before")] == lines

        told = served.rows(COSTS)
        served.run("rebuild")
        served.until(lambda: len(served.rows("SELECT run_id FROM runs")) == 2)
        served.wait_idle()
        assert served.rows(COSTS) == told
        served.run("verify", "--full")
    finally:
        served.kill()


def test_a_collector_with_unusable_prices_does_not_start(tmp_path: Path) -> None:
    prices, config = tmp_path / "prices.toml", tmp_path / "config.toml"
    prices.write_text(TABLE.replace("input = 2", "input = -2"))
    config.write_text(f'[prices]\ntable = "{prices}"\n')
    with pytest.raises(AssertionError, match=r"prices\.toml line 7: per_million: input: -2 is not a price"):
        Served(tmp_path / "data", tmp_path / "stderr.txt", "--config", str(config))


@pytest.mark.long
def test_costs_go_with_their_run(warehouse: EmbeddedWarehouse, tmp_path: Path) -> None:
    (tmp_path / "prices.toml").write_text(TABLE)
    settings = PriceSettings(table=tmp_path / "prices.toml", published=False)
    keeper = Keeper(warehouse, tmp_path / "kept", prices=packed(settings))
    try:
        keeper.send([spent("old")])
        keeper.settle()
        assert keeper.rows("SELECT count(), countIf(isNull(amount)) FROM canon_costs") == [[2, 0]]
        keeper.after(8)
        assert keeper.apply() == [trace_of("old")]
        assert keeper.rows("SELECT count() FROM canon_costs") == [[0]]
        assert keeper.rows("SELECT count() FROM cost") == [[0]]
    finally:
        keeper.close()


@pytest.fixture
def keep(tmp_path: Path) -> Callable[[str | None, int], bool]:
    """Have a directory keep a table (None: none) from a time on."""

    def kept(table: str | None, now: int) -> bool:
        file = tmp_path / "prices.toml"
        file.write_text(table or "")
        return keep_prices(tmp_path, PriceSettings(table=file if table else None, published=False), now)

    return kept


def test_tables_apply_from_when_they_were_adopted(
    keep: Callable[[str | None, int], bool], tmp_path: Path
) -> None:
    assert [
        keep(None, 5),
        keep(TABLE, 10),
        keep(TABLE, 20),
        keep(DEARER, 30),
        keep(None, 40),
        keep(TABLE, 41),
    ] == [
        False,
        True,
        False,
        True,
        True,
        True,
    ]
    settings = PriceSettings(kept=tmp_path / FILE)
    history = unpacked(packed(settings))
    inputs = {
        time: [table.prices[0].standard.per_million["input"] for table in history.at(time, 99)]
        for time in (1, 10, 29, 30, 39, 40, 41)
    }
    assert inputs == {1: [2], 10: [2], 29: [2], 30: [3], 39: [3], 40: [], 41: [2]}
    # A clock that goes ahead, and one that says nothing: the time of the arrival.
    assert history.at(35, 29) == history.at(0, 29) == history.at(29, 0) == history.at(10, 10)
    # The clock of this machine went back: a table never applies before the one before it.
    assert keep(DEARER, 7) and [at for at, _ in unpacked(packed(settings)).adopted] == [10, 30, 40, 41, 42]


def test_nothing_kept_is_no_prices(tmp_path: Path) -> None:
    assert unpacked(packed(PriceSettings(kept=tmp_path / FILE))).at(1, 1) == ()
    assert unpacked(b"").at(1, 1) == () == unpacked(zlib.compress(b"")).at(1, 1)
    assert len(unpacked(packed(PriceSettings())).at(1, 1)) == 1


@pytest.mark.parametrize("line", ["{", "[]", '{"adopted_at": "1", "tables": []}', '{"adopted_at": 1}'])
def test_a_history_that_cannot_be_read_says_so(tmp_path: Path, line: str) -> None:
    (tmp_path / FILE).write_text(json.dumps({"adopted_at": 0, "tables": [TABLE]}) + f"\n{line}\n")
    with pytest.raises(
        ConfigError, match=r"prices\.jsonl line 2 cannot be read: .* restore it from a backup"
    ):
        keep_prices(tmp_path, PriceSettings(published=False), 5)
    with pytest.raises(ConfigError, match="line 2 cannot be read"):
        packed(PriceSettings(kept=tmp_path / FILE))


@pytest.mark.parametrize(
    ("old", "new"), [("input = 2", "input = 9"), ("per_million", "per_millipn"), (": 10,", ": 11,")]
)
def test_a_price_that_was_altered_since_is_no_price(
    keep: Callable[[str | None, int], bool], tmp_path: Path, old: str, new: str
) -> None:
    assert keep(TABLE, 10) and keep(DEARER, 20)
    path = tmp_path / FILE
    whole = path.read_text()
    assert old in whole
    path.write_text(whole.replace(old, new, 1))
    for read in (lambda: keep(DEARER, 30), lambda: packed(PriceSettings(kept=path))):
        with pytest.raises(ConfigError, match=r"line 1 cannot be read: .*not what was written"):
            read()
    path.write_text(whole)
    assert not keep(DEARER, 30)


def test_what_an_earlier_release_kept_is_linked_at_the_next_start(
    keep: Callable[[str | None, int], bool], tmp_path: Path
) -> None:
    path = tmp_path / FILE
    lines = [json.dumps({"adopted_at": at, "tables": [table]}) for at, table in ((10, TABLE), (20, DEARER))]
    path.write_text("".join(f"{line}\n" for line in lines))
    assert not keep(DEARER, 30), "no table is new"
    assert [sorted(json.loads(line)) for line in path.read_text().splitlines()] == [
        ["adopted_at", "link", "tables"]
    ] * 2
    assert [at for at, _ in unpacked(packed(PriceSettings(kept=path))).adopted] == [10, 20]
    # What cannot have been a table is not vouched for.
    path.write_text(lines[0].replace("per_million", "per_millipn") + "\n" + lines[1] + "\n")
    with pytest.raises(ConfigError, match="per_millipn"):
        keep(DEARER, 40)
