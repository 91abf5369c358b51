"""An environment of its own for each framework, kept between recordings."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from abc import ABC, abstractmethod
from pathlib import Path
from tempfile import gettempdir

from recordings.record.framework import Framework

TOP = Path(__file__).resolve().parents[3]
DRIVERS = Path(__file__).parent / "drivers"
#: Not in anybody's home: its name gets into recordings, with every stack trace.
FOLDER = Path(gettempdir()) / "retrospan-recordings"


class Environment(ABC):
    """A folder with a framework installed: newest versions, or the framework itself at the one that is asked for."""

    def __init__(self, name: str, framework: Framework, version: str | None) -> None:
        self._framework, self._version = framework, version
        self.folder = FOLDER / (f"{name}@{version}" if version else name)

    def install(self) -> None:
        """Make the environment anew. The package manager's cache makes this cheap when nothing is new."""
        if self.folder.exists():
            shutil.rmtree(self.folder)
        self.folder.mkdir(parents=True)
        self._fill()

    @abstractmethod
    def versions(self) -> dict[str, str]:
        """The installed version of each package that was asked for, and of OpenTelemetry's."""

    @abstractmethod
    def command(self) -> list[str]:
        """The command that runs the framework's driver, from a copy in the environment's folder.

        Node looks for modules from the script's place, and a stack trace must not name anybody's checkout.
        """

    @abstractmethod
    def _fill(self) -> None: ...

    def _copy(self, source: Path, name: str) -> Path:
        """Copy a folder of drivers, as it is now, into the environment's."""
        return Path(shutil.copytree(source, self.folder / name, dirs_exist_ok=True))


class PythonEnvironment(Environment):
    """Packages in a virtual environment."""

    def versions(self) -> dict[str, str]:
        asked = {_plain(package) for package in self._framework.packages}
        frozen = _run(find_uv(), "pip", "freeze", "--python", str(self.folder / "bin/python"))
        found = dict(line.split("==") for line in frozen.splitlines() if "==" in line)
        return {
            name: version
            for name, version in sorted(found.items())
            if name in asked or name in ("openai", "opentelemetry-semantic-conventions")
        }

    def command(self) -> list[str]:
        return [str(self.folder / "bin/python"), str(self._copy(DRIVERS, "drivers") / self._framework.driver)]

    def _fill(self) -> None:
        packages = list(self._framework.packages)
        if self._version:
            packages[0] = f"{re.split('[<>=!~]', packages[0])[0]}=={self._version}"
        _run(
            find_uv(),
            "venv",
            "--quiet",
            "--python",
            self._framework.python or sys.executable,
            str(self.folder),
        )
        # The standard library by a name that says nothing of this machine.
        base, config = self.folder / "python", self.folder / "pyvenv.cfg"
        told = config.read_text()
        (home,) = re.findall("(?m)^home = (.*)", told)
        base.symlink_to(Path(home).parent)
        config.write_text(told.replace(f"home = {home}", f"home = {base / 'bin'}"))
        _run(find_uv(), "pip", "install", "--quiet", "--python", str(self.folder / "bin/python"), *packages)


class NodeEnvironment(Environment):
    """Packages in `node_modules`."""

    def versions(self) -> dict[str, str]:
        listed = json.loads(_run("npm", "ls", "--json", "--depth=0", cwd=self.folder))["dependencies"]
        return {name: about["version"] for name, about in sorted(listed.items())}

    def command(self) -> list[str]:
        return ["node", str(self._copy(DRIVERS, "drivers") / self._framework.driver)]

    def _fill(self) -> None:
        packages = list(self._framework.packages)
        if self._version:
            packages[0] = f"{packages[0].rpartition('@')[0] or packages[0]}@{self._version}"
        # No package needs a script of its own to be installed: none is run.
        options = ("--ignore-scripts", "--no-fund", "--no-audit", "--loglevel=error")
        _run("npm", "install", *options, *packages, cwd=self.folder)


class MavenEnvironment(Environment):
    """A project in Java, whose `pom.xml` says at which versions, but for the first: its property `--at` sets."""

    def versions(self) -> dict[str, str]:
        told = self.folder / "versions.txt"
        self._maven("dependency:list", f"-DoutputFile={told}")
        found = re.findall(r"([\w.-]+:[\w.-]+):jar:([\w.-]+):", told.read_text(encoding="utf-8"))
        return {name: version for name, version in sorted(found) if name in self._framework.packages}

    def command(self) -> list[str]:
        self._maven("package")
        (program,) = (self.folder / "program/target").glob("*.jar")
        return ["java", "-jar", str(program)]

    def _fill(self) -> None:
        self._maven("package")

    def _maven(self, *arguments: str) -> None:
        program = self._copy((DRIVERS / self._framework.driver).parent, "program")
        at = (f"-Dframework.version={self._version}",) if self._version else ()
        _run("mvn", "-q", "-B", *arguments, *at, cwd=program)


class GoEnvironment(Environment):
    """A program in Go, whose `go.mod` says at which versions, but for the first: `--at` pins that one."""

    def versions(self) -> dict[str, str]:
        listed = _run("go", "list", "-m", *self._framework.packages, cwd=self.folder / "program")
        return dict(sorted(line.split(" ", 1) for line in listed.splitlines()))

    def command(self) -> list[str]:
        _run("go", "build", "-o", str(self.folder / "orla"), ".", cwd=self._program())
        return [str(self.folder / "orla")]

    def _fill(self) -> None:
        program = self._program()
        if self._version:
            _run("go", "get", f"{self._framework.packages[0]}@v{self._version}", cwd=program)
        self.command()

    def _program(self) -> Path:
        return self._copy((DRIVERS / self._framework.driver).parent, "program")


class CargoEnvironment(Environment):
    """A program in Rust, whose `Cargo.toml` says at which versions; `--at` pins the first."""

    def versions(self) -> dict[str, str]:
        listed = json.loads(_run("cargo", "metadata", "--format-version=1", cwd=self._program()))["packages"]
        return {each["name"]: each["version"] for each in listed if each["name"] in self._framework.packages}

    def command(self) -> list[str]:
        built = str(self.folder / "built")
        _run("cargo", "build", "--quiet", "--target-dir", built, cwd=self._program())
        return [str(self.folder / "built/debug/orla")]

    def _fill(self) -> None:
        program = self._program()
        if self._version:
            _run("cargo", "update", self._framework.packages[0], "--precise", self._version, cwd=program)
        self.command()

    def _program(self) -> Path:
        return self._copy((DRIVERS / self._framework.driver).parent, "program")


def environment(name: str, framework: Framework, version: str | None) -> Environment:
    """Return the environment of a framework, by what its driver is written in."""
    kinds: dict[str, type[Environment]] = {
        ".mjs": NodeEnvironment,
        ".xml": MavenEnvironment,
        ".mod": GoEnvironment,
        ".toml": CargoEnvironment,
    }
    return kinds.get(Path(framework.driver).suffix, PythonEnvironment)(name, framework, version)


def _plain(package: str) -> str:
    return re.split(r"[\[<>=!~]", package)[0].lower()


def find_uv() -> str:
    """The uv that `make` finds or fetches."""
    return shutil.which("uv") or str(TOP / ".uv/bin/uv")


def _run(*command: str, cwd: Path | None = None) -> str:
    done = subprocess.run(command, check=False, cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{(done.stdout + done.stderr)[-2000:]}")
    return done.stdout
