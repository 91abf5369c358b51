"""The exporter's spool in a directory where others may write: nothing of theirs is sent, or opened, as the agent's."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from retrospan.exporter.delivery.spool import Spool

STRANGER = 4242
NAME = "00000000000000000001-00000001-99-aaaaaaaa"
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to somebody else")


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_the_spool_is_its_users_alone_whatever_the_agents_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        spool = Spool(tmp_path / "up" / "spool", 1 << 20)
        spool.write(b"request", 1)
    finally:
        os.umask(before)
    assert stat.S_IMODE(spool.directory.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in spool.directory.iterdir()} == {0o600}
    spool.close()


def left_behind(directory: Path) -> Path:
    """A request of a process that is gone."""
    spool = Spool(directory, 1 << 20)
    written = spool.write(b"request", 1).path
    moved = written.rename(directory / f"{NAME}.otlp")
    spool.close()
    return moved


def test_what_a_process_of_the_same_user_left_is_adopted(tmp_path: Path) -> None:
    file = left_behind(tmp_path)
    adopted = Spool(tmp_path, 1 << 20).adopt()
    assert [spooled.path for spooled in adopted] == [file]


@as_root
def test_a_request_that_another_user_put_there_is_not_sent(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    file = left_behind(tmp_path)
    os.chown(file, STRANGER, -1)
    assert Spool(tmp_path, 1 << 20).adopt() == []
    assert file.exists()


def test_a_link_to_a_request_is_not_sent(tmp_path: Path) -> None:
    file = left_behind(tmp_path / "elsewhere")
    (tmp_path / "spool").mkdir()
    (tmp_path / "spool" / file.name).symlink_to(file)
    assert Spool(tmp_path / "spool", 1 << 20).adopt() == []


def test_a_lock_that_is_a_link_makes_no_file_elsewhere(tmp_path: Path) -> None:
    spool_at, victim = tmp_path / "spool", tmp_path / "victim"
    file = left_behind(spool_at)
    (spool_at / "99-aaaaaaaa.lock").symlink_to(victim)
    assert Spool(spool_at, 1 << 20).adopt() == []
    assert not victim.exists() and file.exists()
