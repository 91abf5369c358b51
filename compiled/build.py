"""`make compiled`: a wheel of the checkout for one Python, whose interpretation is compiled; the pure Python is beside it.

    python -m compiled.build OUT

It is the pure wheel with extension modules added: where one was built for the Python that imports, that one is taken, else
the .py beside it. Run with the tools of build-tools.txt in this folder, by the Python that the wheel is for; the checkout
stays as it is.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from mypyc.build import mypycify
from setuptools import Distribution
from setuptools.command.build_ext import build_ext

from compiled.modules import files_in

TOP = Path(__file__).resolve().parent.parent
#: -O3 takes twice as long to build and is no quicker.
OPTIMISATION = "2"
#: `make check` has looked at the types before.
FLAGS = (
    *("--namespace-packages", "--explicit-package-bases"),
    *("--ignore-missing-imports", "--follow-imports=silent"),
)
FUTURE = "from __future__ import annotations\n"
#: mypyc looks for the types of a class's fields among the names of its module, and `object` is not one of them.
KNOWING_OBJECT = "from __future__ import annotations; from builtins import object\n"


class ParallelBuild(build_ext):  # type: ignore[misc]  # its types are not in the environment of the tests
    """Compiles the C files of an extension side by side: of one there are a hundred."""

    def build_extensions(self) -> None:
        compiler: Any = self.compiler
        compile_one = compiler.compile

        def compile_all(sources: list[str], **options: Any) -> list[str]:
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                made = pool.map(lambda source: compile_one([source], **options), sources)
                return [path for paths in made for path in paths]

        compiler.compile = compile_all
        super().build_extensions()


def main() -> None:
    """Build the wheel into the folder that the command line names, and print where it is."""
    out = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(prefix="retrospan-compiled-") as place:
        wheel = build(Path(place), out)
    print(wheel)


def build(place: Path, out: Path) -> Path:
    """Build in a folder that may be thrown away."""
    words = ["hatchling", "build", "--target", "wheel", "--directory", str(place / "pure")]
    subprocess.run([sys.executable, "-m", *words], cwd=TOP, check=True)
    (pure,) = (place / "pure").glob("*.whl")
    tree = place / "tree"
    with zipfile.ZipFile(pure) as packed:
        packed.extractall(tree)
    _compile(tree, place)
    tag = _mark(tree)
    out.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, "-m", "wheel", "pack", "--dest-dir", out, tree], check=True)
    return out / pure.name.replace("py3-none-any", tag)


def _compile(tree: Path, place: Path) -> None:
    """Put the extension modules beside the files that they are made of."""
    source = place / "source"
    shutil.copytree(tree, source)
    os.chdir(source)
    files = files_in(Path())
    for file in files:
        text = file.read_text(encoding="utf-8")
        file.write_text(text.replace(FUTURE, KNOWING_OBJECT, 1), encoding="utf-8")
    extensions = mypycify(
        [*FLAGS, *map(str, files)],
        opt_level=OPTIMISATION,
        debug_level="0",
        multi_file=True,
        group_name="retrospan",
        target_dir=str(place / "c"),
    )
    command = ParallelBuild(Distribution({"name": "retrospan", "ext_modules": extensions}))
    command.build_lib, command.build_temp = str(tree), str(place / "objects")
    command.ensure_finalized()
    command.run()


def _mark(tree: Path) -> str:
    """Say in the wheel for which Python and which machine it is, and return that."""
    (file,) = tree.glob("*.dist-info/WHEEL")
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    tag = f"{python}-{python}-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if line and "Tag:" not in line]
    lines = [line.replace("Root-Is-Purelib: true", "Root-Is-Purelib: false") for line in lines]
    file.write_text("\n".join([*lines, f"Tag: {tag}", ""]), encoding="utf-8")
    return tag


if __name__ == "__main__":
    main()
