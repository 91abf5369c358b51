"""The benchmark is run from the top of the repository and is not part of the distribution; a directory that is altered."""

import shutil
import sys
from pathlib import Path

import pytest
from attacks.altered_directory import scene

sys.path.append(str(Path(__file__).resolve().parents[2]))


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stopped directory, as it should be."""
    data = tmp_path_factory.mktemp("evidence") / "data"
    scene(data, "build")
    return data


@pytest.fixture
def data(original: Path, tmp_path: Path) -> Path:
    """A copy of it to alter."""
    shutil.copytree(original, tmp_path / "data", symlinks=True)
    return tmp_path / "data"
