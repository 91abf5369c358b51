"""A command whose dependencies are not installed names them, and the line that installs them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

WITHOUT = """
import sys
sys.modules[sys.argv.pop(1)] = None
from retrospan.ingest.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(("module", "command"), [("isal", "doctor"), ("grpc", "serve"), ("uvicorn", "serve")])
def test_what_is_not_installed_is_named_with_the_line_to_type(
    module: str, command: str, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, module, command, "--data", str(tmp_path / "data")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"RETROSPAN_URL": "http://127.0.0.1:9"},
    )
    assert done.returncode == 2
    assert done.stderr == (
        f"error: {command} needs a part that is not here: {module} is not installed. "
        'Install it with: pip install "retrospan[embedded]"\n'
    )
    assert "defect" not in done.stderr
