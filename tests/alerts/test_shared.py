"""Several collectors on one server with the same rules: one tells, and when it is killed another goes on for it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from alerts.targets import Heard, answer, listening
from alerts.test_collector import RULES, Alerted
from fix_collector import Served
from warehouse.engine_server import EngineServer

from retrospan.ingest.warehouse.embedded import EmbeddedWarehouse

pytestmark = pytest.mark.long


@pytest.fixture
def server(warehouse: EmbeddedWarehouse) -> Iterator[EngineServer]:
    """An empty server: the collectors make its tables themselves."""
    store = warehouse.connect()
    store.command("DROP DATABASE retrospan")
    running = EngineServer(warehouse, user="me", password="p")
    yield running
    running.close()
    store.command("DROP DATABASE IF EXISTS retrospan")
    store.command("CREATE DATABASE retrospan")
    store.close()


class Shared(Alerted):
    """A collector on a server, with rules that it has in common with others."""

    def __init__(self, folder: Path, heard: Heard, server: EngineServer, *flags: str) -> None:
        folder.mkdir(mode=0o700)
        key, rules, config = (folder / name for name in ("key", "rules", "config"))
        key.write_text("a secret of thirty-two characters")
        text = RULES.format(port=heard.port, key=key, program="/bin/true", to='["hook"]')
        rules.write_text(text.partition('[[rule]]\nname = "broken"')[0])
        config.write_text(f'[alerts]\nrules = "{rules}"\nevery_seconds = 1\n')
        self.heard = heard
        address = f"clickhouse://me:p@127.0.0.1:{server.port}/retrospan"
        self.served = Served(
            folder / "data", folder / "err", "--config", str(config), "--warehouse", address, *flags
        )


def test_one_of_several_evaluates_and_another_takes_over(tmp_path: Path, server: EngineServer) -> None:
    with listening(answer("204 No Content")) as heard:
        all_of_it = Shared(tmp_path / "a", heard, server)
        one_more = Shared(tmp_path / "b", heard, server, "--role", "interpret")
        both = [all_of_it, one_more]
        try:
            all_of_it.send_run()
            all_of_it.served.until(lambda: sum(each.metric("sent_total") for each in both) == 1)
            assert [each["alert"]["rule"] for each in all_of_it.bodies()] == ["any-run"]
            told = sorted(both, key=lambda each: each.metric("evaluations_total"))
            idle, active = told
            lists = [json.loads(each.served.run("alerts", "list", "--json").splitlines()[0]) for each in told]
            assert [each["evaluated_here"] for each in lists] == [False, True]
            assert lists[0]["alerts"] == lists[1]["alerts"], "each knows what was told"
            active.served.kill()
            before = idle.metric("evaluations_total")
            idle.served.until(lambda: idle.metric("evaluations_total") > before + 1)
            assert len(heard.requests) == 1, "within the cooldown, whoever told"
        finally:
            for each in both:
                each.served.kill()
