"""What the doctor says of the targets of alerts, without telling them anything."""

from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path

from ports import unused_port

from retrospan.ingest.doctor.targets import check_targets
from retrospan.ingest.settings.config import AlertSettings, Config

RULES = """
[[target]]
name = "hook"
url = "http://127.0.0.1:{port}/"
secret_file = "{key}"
allow_private = true
[[target]]
name = "program"
command = ["{program}"]
[[rule]]
name = "r"
view = "runs"
window = "1h"
to = ["hook", "program"]
"""


def found(folder: Path, port: int, program: str = "/bin/true") -> list[tuple[str, str]]:
    rules = folder / "rules"
    rules.write_text(RULES.format(port=port, key=folder / "key", program=program))
    config = replace(Config(), alerts=AlertSettings(rules=rules))
    return [(finding.result, finding.said) for finding in check_targets(config)]


def test_targets_that_can_be_told(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("x" * 32)
    with socket.create_server(("127.0.0.1", 0)) as server:
        said = found(tmp_path, server.getsockname()[1])
    assert said == [("ok", "rules: 1, targets: 2; each can be connected to or run")]


def test_a_dead_webhook_a_secret_that_is_not_there_and_a_program_that_is_none(tmp_path: Path) -> None:
    said = found(tmp_path, unused_port(), str(tmp_path / "gone"))
    assert [result for result, _ in said] == ["warning", "warning"]
    assert "cannot read the secret in" in said[0][1] and "cannot read the program" in said[1][1]
    (tmp_path / "key").write_text("x" * 32)
    (tmp_path / "plain").write_text("no program")
    (tmp_path / "plain").chmod(0o600)
    said = found(tmp_path, unused_port(), str(tmp_path / "plain"))
    assert "efused" in said[0][1] and said[1][1].endswith("cannot be run")


def test_rules_that_cannot_be_meant_and_none(tmp_path: Path) -> None:
    assert list(check_targets(Config())) == []
    (tmp_path / "rules").write_text("[[rule]]\nname = 'x'\n")
    config = replace(Config(), alerts=AlertSettings(rules=tmp_path / "rules"))
    (finding,) = check_targets(config)
    assert finding.result == "failed" and "view is needed" in finding.said
