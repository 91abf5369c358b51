"""docs/clients.md shows the table that tests/clients runs, at the versions that are installed there."""

from __future__ import annotations

from clients.environments import PROGRAMS
from clients.table import GO, JAEGER, JDBC, NODE, RUST
from docs import clients_table
from docs.pages import TOP


def test_the_table_is_what_the_tests_do() -> None:
    assert clients_table.shown() == clients_table.table(), (
        "run tests/docs/clients_table.py to renew the table"
    )


def test_versions_are_those_of_the_manifests() -> None:
    for client, manifest, written in (
        (JDBC, "java/pom.xml", f"<version>{JDBC.version}</version>"),
        (NODE, "node/package.json", f'"@clickhouse/client": "{NODE.version}"'),
        (GO, "go/go.mod", f"github.com/ClickHouse/clickhouse-go/v2 v{GO.version}"),
        (JAEGER, "jaeger/go.mod", f"github.com/jaegertracing/jaeger-idl v{JAEGER.version}"),
        (RUST, "rust/Cargo.toml", f'clickhouse = "={RUST.version}"'),
    ):
        assert written in (PROGRAMS / manifest).read_text(encoding="utf-8"), client.name


def test_jdbc_is_checked_forty_five_times() -> None:
    assert len(JDBC.checks) == 45
    assert (TOP / "tests/clients/programs/java/Reads.java").read_text(encoding="utf-8").count('check("') == 45
