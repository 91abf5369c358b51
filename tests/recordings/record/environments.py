"""An environment of its own for each framework, kept between recordings."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import gettempdir

from recordings.record.frameworks import Framework

TOP = Path(__file__).resolve().parents[3]
#: Not in anybody's home: its name gets into recordings, with every stack trace.
FOLDER = Path(gettempdir()) / "retrospan-recordings"


class Environment:
    """A folder with a framework installed: newest versions, or the framework itself at the one that is asked for."""

    def __init__(self, name: str, framework: Framework, version: str | None) -> None:
        self._framework, self._version = framework, version
        self.folder = FOLDER / (f"{name}@{version}" if version else name)

    def install(self) -> None:
        """Make the environment anew. The package manager's cache makes this cheap when nothing is new."""
        if self.folder.exists():
            shutil.rmtree(self.folder)
        self.folder.mkdir(parents=True)
        packages = list(self._framework.packages)
        if self._framework.runs_on_node:
            if self._version:
                packages[0] = f"{packages[0].rpartition('@')[0] or packages[0]}@{self._version}"
            # No package needs a script of its own to be installed: none is run.
            options = ("--ignore-scripts", "--no-fund", "--no-audit", "--loglevel=error")
            _run("npm", "install", *options, *packages, cwd=self.folder)
            return
        if self._version:
            packages[0] = f"{re.split('[<>=!~]', packages[0])[0]}=={self._version}"
        _run(_uv(), "venv", "--quiet", "--python", sys.executable, str(self.folder))
        # The standard library by a name that says nothing of this machine.
        base, config = self.folder / "python", self.folder / "pyvenv.cfg"
        base.symlink_to(sys.base_prefix)
        config.write_text(re.sub("(?m)^home = .*", f"home = {base / 'bin'}", config.read_text()))
        _run(_uv(), "pip", "install", "--quiet", "--python", str(self.folder / "bin/python"), *packages)

    def versions(self) -> dict[str, str]:
        """The installed version of each package that was asked for, and of OpenTelemetry's."""
        asked = {_plain(package) for package in self._framework.packages}
        if self._framework.runs_on_node:
            listed = json.loads(_run("npm", "ls", "--json", "--depth=0", cwd=self.folder))["dependencies"]
            return {name: about["version"] for name, about in sorted(listed.items())}
        frozen = _run(_uv(), "pip", "freeze", "--python", str(self.folder / "bin/python"))
        found = dict(line.split("==") for line in frozen.splitlines() if "==" in line)
        return {
            name: version
            for name, version in sorted(found.items())
            if name in asked or name in ("openai", "opentelemetry-semantic-conventions")
        }

    def command(self, driver: Path) -> list[str]:
        """The command that runs a driver in this environment, from a copy in its folder.

        Node looks for modules from the script's place, and a stack trace must not name anybody's checkout.
        """
        folder = self.folder / "drivers"
        shutil.copytree(driver.parent, folder, dirs_exist_ok=True)
        interpreter = "node" if self._framework.runs_on_node else str(self.folder / "bin/python")
        return [interpreter, str(folder / driver.name)]


def _plain(package: str) -> str:
    return re.split(r"[\[<>=!~]", package)[0].lower()


def _uv() -> str:
    """The uv that `make` finds or fetches."""
    return shutil.which("uv") or str(TOP / ".uv/bin/uv")


def _run(*command: str, cwd: Path | None = None) -> str:
    done = subprocess.run(command, check=False, cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    return done.stdout
