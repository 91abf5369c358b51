"""The base wheel, alone in an environment: each command works, or names the one line to type."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from fix_cli import HELD, REFUND

from retrospan.ingest.cli.command_table import COMMANDS

TOP = Path(__file__).resolve().parents[2]
ASKS_THE_COLLECTOR: Mapping[str, list[str]] = {
    "runs": [],
    "show": ["last"],
    "why": ["last"],
    "state": ["last"],
    "entity": ["record/C-1042"],
    "trace": [REFUND],
    "diff": [REFUND, HELD],
    "find": ["refund"],
    "findings": [],
    "loops": [],
    "cost": [],
    "drift": ["--baseline", "2000-01-01..2000-01-02", "--candidate", "2000-01-02..2100-01-01"],
    "sql": ["SELECT count() FROM runs"],
    "bundle": ["last", "--check"],
    "rules": ["test", "rules.toml"],
}
#: What needs the collector's part on this machine, and whether it is there.
NEEDS_AN_EXTRA: Mapping[str, list[str]] = {
    "serve": ["--data", "data"],
    "demo": [],
    "mcp": [],
    "torture": [],
    "migrate": ["--data", "kept"],
}
WORKS: Mapping[str, list[str]] = {"spool": ["send", "."], "completion": ["bash"]}
#: These want more than this test has: a run to flag, a collector's administrator, a file. Their help is enough.
BY_THEIR_HELP = (
    "alerts",
    "replay",
    "fork",
    "golden",
    "bisect",
    "export",
    "flag",
    "hold",
    "retention",
    "verify",
    "rebuild",
)


def _run(words: list[str]) -> None:
    subprocess.run(words, check=True, capture_output=True, timeout=300)


class Installed:
    """`retrospan` of an environment that holds the wheel, what that declares, and nothing else."""

    def __init__(self, place: Path, url: str) -> None:
        uv = shutil.which("uv") or str(TOP / ".uv/bin/uv")
        if not Path(uv).exists():
            pytest.skip("uv, which builds the wheel, is not here")
        build = [uv, "build", "--quiet", "--wheel", "--out-dir", str(place / "dist"), str(TOP)]
        _run(build)
        venv = place / "env"
        _run([uv, "venv", "--quiet", "--python", sys.executable, str(venv)])
        (wheel,) = (place / "dist").glob("*.whl")
        _run([uv, "pip", "install", "--quiet", "--python", str(venv / "bin/python"), str(wheel)])
        self.python = venv / "bin/python"
        (place / "kept/warehouse/store").mkdir(parents=True)
        self._place, self._url = place, url

    def run(self, *words: str, url: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.python.with_name("retrospan")), *words],
            cwd=self._place,
            env={"RETROSPAN_URL": url or self._url},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory, collector: str) -> Installed:
    return Installed(tmp_path_factory.mktemp("base"), collector)


def test_every_command_is_tried_below() -> None:
    assert COMMANDS.keys() == {*ASKS_THE_COLLECTOR, *NEEDS_AN_EXTRA, *WORKS, *BY_THEIR_HELP, "doctor"}


@pytest.mark.long
def test_each_command_works_or_names_the_line_to_type(installed: Installed, tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    shutil.copy(TOP / "tests/rules/records.toml", rules)
    alone = installed.run()
    assert alone.returncode == 0
    assert 'no   the collector         pip install "retrospan[server]"' in alone.stdout
    assert 'pip install "retrospan[embedded]"   then: retrospan demo' in alone.stdout
    for name, words in {**ASKS_THE_COLLECTOR, **WORKS}.items():
        done = installed.run(name, *(str(rules) if word == rules.name else word for word in words))
        # `drift` has 8 runs to compare, and says that it needs more.
        assert done.returncode in (0, 1) or "No verdict" in done.stderr, (name, done.stderr)
        assert done.stdout or done.stderr, name
    for name in BY_THEIR_HELP:
        assert installed.run(name, "--help").returncode == 0, name
    for name, words in NEEDS_AN_EXTRA.items():
        done = installed.run(name, *words)
        assert done.returncode == 2, name
        assert re.fullmatch(
            r"error: (?:\w+ needs a part that is not here: )?[\w ]+ is not installed\. "
            r'Install it with: pip install "retrospan\[(embedded|mcp|torture)\]"\n',
            done.stderr,
        ), (name, done.stderr)
    with_server = installed.run("serve", "--warehouse", "clickhouse://127.0.0.1:1/retrospan")
    assert with_server.stderr.endswith('pip install "retrospan[server]"\n')
    checked = installed.run("doctor", url="http://127.0.0.1:9")
    assert 'pip install "retrospan[embedded]"' in checked.stdout
    assert "defect" not in checked.stdout + checked.stderr


@pytest.mark.long
@pytest.mark.parametrize("form", ["", "pandas=True"])
def test_the_python_interface_names_its_extra(installed: Installed, collector: str, form: str) -> None:
    code = f"from retrospan.queries import connect; connect({collector!r}, {form}).runs()".replace(", )", ")")
    done = subprocess.run(
        [str(installed.python), "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr.splitlines()[-1].endswith(
        'MissingExtra: polars is not installed. Install it with: pip install "retrospan[frames]"'
    )
