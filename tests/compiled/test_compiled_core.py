"""The wheel that `make compiled` builds: it reads as the pure Python does, whatever comes, and says that it is there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.soak

TOP = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
#: What only Python has: counted calls, changed functions, jobs that the test's own process is given.
ONLY_PURE = ("tests/interpret/test_depth.py", "tests/interpret/test_length.py", "tests/interpret/service")


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the packages of the wheel lie, as after an installation."""
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
    if shutil.which(compiler) is None:
        pytest.skip(f"there is no C compiler ({compiler})")
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        pytest.skip("the headers of this Python are not here")
    place = tmp_path_factory.mktemp("compiled")
    words = [
        "make",
        "compiled",
        f"PYTHON={sys.executable}",
        f"DIST={place / 'dist'}",
        f"TOOLS={place / 'tools'}",
    ]
    subprocess.run(words, cwd=TOP, check=True, capture_output=True, timeout=1_800)
    (wheel,) = (place / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(place / "packages")
    return place / "packages"


def run(installed: Path | None, *words: str, timeout: float = 600) -> subprocess.CompletedProcess[str]:
    """Run Python with the packages of the wheel before those of the checkout, or without."""
    path = os.pathsep.join(map(str, filter(None, (installed, TOP / "tests", TOP))))
    return subprocess.run(
        [sys.executable, *words],
        cwd=TOP,
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def test_the_wheel_says_that_it_is_compiled(installed: Path) -> None:
    said = run(installed, "-m", "retrospan.ingest.cli.main", "--version")
    assert said.stdout.endswith(" (compiled)\n"), said
    assert "compiled" not in run(None, "-m", "retrospan.ingest.cli.main", "--version").stdout
    checked = run(installed, "-m", "retrospan.ingest.cli.main", "doctor", "--data", str(installed / "none"))
    assert "this installation reads runs with compiled modules" in checked.stdout


def test_each_extension_module_has_its_python_beside_it(installed: Path) -> None:
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    modules = [path for path in installed.rglob(f"*{suffix}") if path.parent != installed]
    assert len(modules) > 100
    for module in modules:
        assert module.with_name(module.name.removesuffix(suffix) + ".py").exists()


@pytest.mark.parametrize("kind", ["recordings", "nested", "odd"])
def test_it_gives_the_rows_that_pure_python_gives(kind: str, installed: Path) -> None:
    program = str(HERE / "hashed_rows.py")
    compiled, pure = run(installed, program, kind), run(None, program, kind)
    assert compiled.returncode == 0, compiled.stderr[-2_000:]
    assert pure.returncode == 0, pure.stderr[-2_000:]
    (where, *told), (other, *expected) = compiled.stdout.splitlines(), pure.stdout.splitlines()
    assert where.endswith(sysconfig.get_config_var("EXT_SUFFIX")) and other.endswith(".py")
    assert len(expected) > 5
    assert [line for line, wanted in zip(told, expected, strict=True) if line != wanted] == []


def test_the_tests_of_the_pure_core_hold_for_it(installed: Path) -> None:
    left = [f"--ignore={path}" for path in ONLY_PURE]
    words = [
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-n",
        "2",
        *left,
        "-m",
        "not long and not soak and not engine",
    ]
    done = run(installed, *words, "tests/interpret", timeout=1_500)
    assert done.returncode == 0, done.stdout[-3_000:]


def test_the_interpreting_process_loads_it(installed: Path) -> None:
    """As the collector starts it; it ends where there is no job."""
    done = run(installed, "-v", "-m", "retrospan.ingest.interpret.service.worker", "0", "0")
    assert done.returncode == 0, done.stderr[-2_000:]
    assert "import 'retrospan__mypyc'" in done.stderr
    assert "interpret/run.py" not in done.stderr


def test_the_demo_shows_what_it_shows_with_pure_python(installed: Path) -> None:
    shown, pure = (run(place, "-m", "retrospan.ingest.cli.main", "demo") for place in (installed, None))
    assert shown.returncode == 0, shown.stderr
    assert pure.returncode == 0, pure.stderr
    assert len(shown.stdout.splitlines()) == len(pure.stdout.splitlines())
