"""What each command is called with, as a user would."""

from __future__ import annotations

import sys
from pathlib import Path

from keeping import trace_of

ALL_OLD_GOES = '[keep]\nok = "1h"\n\n[archive]\nkeep = "1h"\n'


def words_of(tmp_path: Path, run: str) -> dict[str, list[list[str]]]:
    """What each command is called with, as a user would."""
    kept = tmp_path / "keep.toml"
    rules = tmp_path / "rules.toml"
    kept.write_text(ALL_OLD_GOES)
    rules.write_text((Path(__file__).parents[1] / "rules" / "records.toml").read_text())
    other = trace_of("other-run")
    spool = tmp_path / "spool"
    spool.mkdir()
    return {
        "runs": [["runs"]],
        "show": [["show", run]],
        "why": [["why", run], ["why", run, "--html", str(tmp_path / "why.html")]],
        "state": [["state", run]],
        "entity": [["entity", "config/none"]],
        "trace": [["trace", run]],
        "diff": [["diff", run, other]],
        "find": [["find", "anything"]],
        "findings": [["findings"], ["findings", "--by", "rule"]],
        "loops": [["loops"], ["loops", "--by", "day"]],
        "cost": [["cost"], ["cost", run]],
        "drift": [["drift", "--baseline", "2d..1d", "--candidate", "1d.."]],
        "mcp": [["mcp"]],
        "spool": [["spool", "send", str(spool)]],
        "sql": [["sql", "SELECT count() FROM spans"]],
        "bundle": [["bundle", run, "--out", str(tmp_path / "run.bundle")]],
        "replay": [
            ["replay", run, "--report", str(tmp_path / "replayed.json"), "--", sys.executable, "-c", "0"]
        ],
        "fork": [["fork", run, "--step", "1", "--", sys.executable, "-c", "0"]],
        "golden": [["golden", "list", "--dir", str(tmp_path / "golden")]],
        "bisect": [["bisect", "--suite", str(tmp_path / "run.bundle"), "--", "true"]],
        "export": [["export", run, "--otlp", str(tmp_path / "run.pb")]],
        "flag": [["flag", run]],
        "hold": [["hold", other]],
        "verify": [["verify"]],
        "rebuild": [["rebuild", "--run", run], ["rebuild"]],
        "alerts": [["alerts", "list"]],
        "rules": [["rules", "test", str(rules)]],
        "migrate": [["migrate", "--dry-run"], ["migrate"]],
        "doctor": [["doctor"], ["doctor", "--run", run]],
        "completion": [["completion", "bash"]],
        "retention": [["retention", "plan"], ["retention", "apply", "--policy", str(kept)]],
    }
