"""Nobody but root and the collector's own user may change what steers a collector: who writes the file rules it."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from certificates import make_certificates
from fix_collector import Served

from retrospan.ingest.access.gate import Gate
from retrospan.ingest.access.tls import server_context
from retrospan.ingest.access.tokens import TokenFile, read_tokens
from retrospan.ingest.redact.redactor import Redactor
from retrospan.ingest.retention.policy.policy import read_policy_file
from retrospan.ingest.rules.ruleset import Ruleset
from retrospan.ingest.settings.config import Config, RedactionSettings, TlsSettings
from retrospan.ingest.settings.trusted_file import readable_by_others, require_trusted
from retrospan.schemas.errors import ConfigError, Unauthenticated

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to somebody else")
STRANGER = 4242


def tokens_of(token: str, name: str = "reader", rights: str = '"read"') -> str:
    digest = hashlib.sha256(token.encode()).hexdigest()
    return f'[[token]]\nname = "{name}"\nsha256 = "{digest}"\nrights = [{rights}]\n'


@pytest.fixture
def tokens(tmp_path: Path) -> Path:
    file = tmp_path / "conf" / "tokens.toml"
    file.parent.mkdir()
    file.write_text(tokens_of("first"))
    return file


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o660, 0o666, 0o622, 0o777, 0o020, 0o1660])
def test_a_file_that_others_may_write_is_refused_with_its_mode_and_the_cure(tokens: Path, mode: int) -> None:
    tokens.chmod(mode)
    with pytest.raises(ConfigError) as refused:
        read_tokens(tokens)
    assert str(refused.value) == (
        f"{tokens} can be written by others: its mode is {mode:04o}. Run: chmod 600 {tokens}"
    )


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o440, 0o400, 0o644, 0o444])
def test_a_file_that_others_may_only_read_is_taken(tokens: Path, mode: int) -> None:
    tokens.chmod(mode)
    assert read_tokens(tokens).find("first") is not None


@pytest.mark.parametrize("mode", [0o770, 0o775, 0o777, 0o2775, 0o722])
def test_a_file_that_others_may_replace_is_refused(tokens: Path, mode: int) -> None:
    tokens.parent.chmod(mode)
    with pytest.raises(ConfigError) as refused:
        read_tokens(tokens)
    assert f"{tokens} can be replaced by others: {tokens.parent} has the mode {mode:04o}" in str(
        refused.value
    )
    assert f"chmod go-w {tokens.parent}" in str(refused.value)


def test_a_directory_further_up_counts_too(tokens: Path, tmp_path: Path) -> None:
    deep = tmp_path / "up" / "a" / "b"
    deep.mkdir(parents=True)
    moved = tokens.rename(deep / "tokens.toml")
    read_tokens(moved)
    (tmp_path / "up").chmod(0o777)
    with pytest.raises(ConfigError, match=re.escape(f"{tmp_path / 'up'} has the mode 0777")):
        read_tokens(moved)


def test_a_sticky_directory_may_be_on_the_way(tokens: Path) -> None:
    tokens.parent.chmod(0o1777)
    read_tokens(tokens)


@as_root
@pytest.mark.parametrize("what", ["file", "directory"])
def test_what_belongs_to_another_user_is_refused(tokens: Path, what: str) -> None:
    owned = tokens if what == "file" else tokens.parent
    os.chown(owned, STRANGER, -1)
    with pytest.raises(ConfigError, match=rf"{re.escape(str(owned))} *belongs to uid {STRANGER}|{STRANGER}"):
        read_tokens(tokens)


@as_root
def test_a_stranger_s_file_in_a_sticky_directory_is_refused(tokens: Path) -> None:
    """As in /tmp, where everybody can be the first to make a file of that name."""
    tokens.parent.chmod(0o1777)
    os.chown(tokens, STRANGER, -1)
    with pytest.raises(ConfigError, match=f"belongs to uid {STRANGER}"):
        read_tokens(tokens)


@as_root
def test_root_may_own_what_another_user_reads(tokens: Path) -> None:
    """As a Secret in a pod: root's, and of the group of the process."""
    tokens.chmod(0o640)
    os.chown(tokens, 0, STRANGER)
    code = (
        "import os, sys; from pathlib import Path\n"
        "from retrospan.ingest.access.tokens import read_tokens\n"
        f"os.setgroups([]); os.setgid({STRANGER}); os.setuid({STRANGER})\n"
        "print(len(read_tokens(Path(sys.argv[1])).entries))"
    )
    for folder in tokens.parents:
        if not folder.stat().st_mode & 0o001:
            folder.chmod(stat.S_IMODE(folder.stat().st_mode) | 0o011)
    done = subprocess.run(
        [sys.executable, "-c", code, str(tokens)], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stdout == "1\n", done.stderr


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """The file in a Secret as the kubelet mounts it: two links, in a sticky directory that everybody may write in."""
    mount = tmp_path / "mount"
    (mount / "..2026_11_22").mkdir(parents=True)
    (mount / "..2026_11_22" / "tokens.toml").write_text(tokens_of("first"))
    (mount / "..2026_11_22" / "tokens.toml").chmod(0o440)
    (mount / "..data").symlink_to("..2026_11_22")
    (mount / "tokens.toml").symlink_to("..data/tokens.toml")
    mount.chmod(0o3777)
    return mount / "tokens.toml"


def test_a_secret_of_kubernetes_is_taken_and_its_renewal_too(secret: Path) -> None:
    said: list[str] = []
    gate = Gate(TokenFile(secret, said.append))
    assert gate.admit("first", "read").name == "reader"
    mount = secret.parent
    (mount / "..2026_11_23").mkdir()
    (mount / "..2026_11_23" / "tokens.toml").write_text(tokens_of("second"))
    (mount / "..data_tmp").symlink_to("..2026_11_23")
    (mount / "..data_tmp").rename(mount / "..data")
    assert gate.admit("second", "read").name == "reader"
    with pytest.raises(Unauthenticated):
        gate.admit("first", "read")
    assert len(said) == 1 and "tokens in force" in said[0]


@as_root
def test_a_config_map_of_kubernetes_is_taken_because_it_is_mounted_to_be_read_only(tokens: Path) -> None:
    """The kubelet makes its directory 0777, and mounts it so that nobody in the pod writes there."""
    mount = tokens.parent
    mount.chmod(0o2777)
    bound = subprocess.run(["mount", "--bind", str(mount), str(mount)], capture_output=True, check=False)
    if bound.returncode:
        pytest.skip("no mounts can be made here")
    try:
        with pytest.raises(ConfigError, match="has the mode 2777"):
            read_tokens(tokens)
        subprocess.run(["mount", "-o", "remount,bind,ro", str(mount)], check=True)
        assert read_tokens(tokens).find("first") is not None
        assert readable_by_others(tokens) is None
    finally:
        subprocess.run(["umount", str(mount)], check=True)
    with pytest.raises(ConfigError, match="has the mode 2777"):
        read_tokens(tokens)


def test_a_link_that_others_may_turn_elsewhere_is_refused(tokens: Path, tmp_path: Path) -> None:
    """The file is safe where it lies; the way to it is not."""
    open_folder = tmp_path / "open"
    open_folder.mkdir()
    (open_folder / "link.toml").symlink_to(tokens)
    read_tokens(open_folder / "link.toml")
    open_folder.chmod(0o777)
    with pytest.raises(ConfigError, match=re.escape(f"{open_folder} has the mode 0777")):
        read_tokens(open_folder / "link.toml")


def test_a_link_in_the_middle_of_the_way_counts(tokens: Path, tmp_path: Path) -> None:
    open_folder = tmp_path / "open"
    open_folder.mkdir()
    (open_folder / "conf").symlink_to(tokens.parent, target_is_directory=True)
    named = tmp_path / "way"
    named.symlink_to(open_folder / "conf", target_is_directory=True)
    read_tokens(named / "tokens.toml")
    open_folder.chmod(0o777)
    with pytest.raises(ConfigError, match="can be replaced by others"):
        read_tokens(named / "tokens.toml")


@pytest.mark.parametrize("way", ["conf/../open/tokens.toml", "./open/../open/tokens.toml"])
def test_dots_hide_nothing(tokens: Path, tmp_path: Path, way: str) -> None:
    open_folder = tmp_path / "open"
    open_folder.mkdir()
    tokens.rename(open_folder / "tokens.toml")
    read_tokens(tmp_path / way)
    open_folder.chmod(0o777)
    with pytest.raises(ConfigError, match="can be replaced by others"):
        read_tokens(tmp_path / way)


def test_links_in_a_circle_end(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(ConfigError, match="cannot read"):
        require_trusted(tmp_path / "a")


def test_a_file_that_becomes_open_keeps_what_was_in_force_and_says_so(tokens: Path) -> None:
    """What others write into it then counts for nothing, and what is written once it is closed counts again."""
    said: list[str] = []
    gate = Gate(TokenFile(tokens, said.append))
    tokens.chmod(0o660)
    tokens.write_text(tokens_of("first") + tokens_of("mine", "intruder", '"read", "write", "admin"'))
    for _ in range(3):
        assert gate.admit("first", "read").name == "reader"
        with pytest.raises(Unauthenticated):
            gate.admit("mine", "admin")
    assert len(said) == 1, said
    assert "the previous tokens stay in force" in said[0] and "its mode is 0660" in said[0]
    tokens.chmod(0o600)
    assert gate.admit("mine", "admin").name == "intruder", "the file is its owner's again, and read again"


def test_a_file_that_is_put_in_place_by_others_counts_for_nothing(tokens: Path) -> None:
    said: list[str] = []
    gate = Gate(TokenFile(tokens, said.append))
    tokens.parent.chmod(0o777)
    tokens.unlink()
    tokens.write_text(tokens_of("mine", "intruder"))
    with pytest.raises(Unauthenticated):
        gate.admit("mine", "read")
    assert gate.admit("first", "read").name == "reader"
    assert "can be replaced by others" in said[0]


def test_a_pipe_that_the_shell_hands_over_is_read(tmp_path: Path) -> None:
    """`--config <(…)`: it comes from whoever starts the collector."""
    readable, writable = os.pipe()
    os.write(writable, b"drain_seconds = 3\n")
    os.close(writable)
    try:
        assert Config.read({}, {}, Path(f"/dev/fd/{readable}")).drain_seconds == 3
    finally:
        os.close(readable)


def _reads(tmp_path: Path) -> Iterator[tuple[str, Path, Callable[[Path], object]]]:
    """Every other file that steers a collector, and what reads it."""
    texts = {
        "policy": "[keep]\nok = '7d'\n",
        "redaction": 'builtin = ["jwt"]\n',
        "rules": (Path(__file__).parents[1] / "rules" / "records.toml").read_text(),
        "config": "drain_seconds = 3\n",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.toml").write_text(text)
    yield "policy", tmp_path / "policy.toml", read_policy_file
    yield (
        "redaction",
        tmp_path / "redaction.toml",
        lambda file: Redactor.of(RedactionSettings(enabled=True, rules=file)),
    )
    yield "rules", tmp_path / "rules.toml", Ruleset.configured
    yield "config", tmp_path / "config.toml", lambda file: Config.read({}, {}, file)
    made = make_certificates(tmp_path)
    server, authority = made.server, made.authority
    yield "key", server.key, lambda file: server_context(TlsSettings(server.certificate, file))
    yield "certificate", server.certificate, lambda file: server_context(TlsSettings(file, server.key))
    yield (
        "client_ca",
        authority,
        lambda file: server_context(TlsSettings(server.certificate, server.key, file)),
    )


@pytest.mark.parametrize(
    "name", ["policy", "redaction", "rules", "config", "key", "certificate", "client_ca"]
)
def test_every_file_that_steers_a_collector_is_looked_at(tmp_path: Path, name: str) -> None:
    ((file, read),) = ((file, read) for found, file, read in _reads(tmp_path) if found == name)
    file.chmod(0o600)
    read(file)
    for mode in (0o660, 0o606):
        file.chmod(mode)
        with pytest.raises(
            ConfigError, match=rf"its mode is {mode:04o}\. Run: chmod 600 {re.escape(str(file))}"
        ):
            read(file)


def test_a_collector_does_not_start_with_a_file_of_tokens_that_its_group_may_write(
    tmp_path: Path, tokens: Path
) -> None:
    tokens.chmod(0o660)
    (tmp_path / "data").mkdir()
    with pytest.raises(AssertionError, match="can be written by others: its mode is 0660"):
        Served(tmp_path / "data", tmp_path / "stderr.txt", "--tokens", str(tokens))
    assert not (tmp_path / "data" / "warehouse").exists()


@pytest.mark.parametrize(
    ("mode", "said"), [(0o644, "0644"), (0o604, "0604"), (0o640, "0640"), (0o600, None), (0o400, None)]
)
def test_who_may_read_it_is_known(tokens: Path, mode: int, said: str | None) -> None:
    tokens.chmod(mode)
    assert readable_by_others(tokens) == said


@pytest.mark.long
def test_what_the_other_process_is_read_is_looked_at_each_time(tmp_path: Path) -> None:
    """The process of the warehouse cannot reach the policy: the one that receives reads it, for every command."""
    policy = tmp_path / "keep.toml"
    policy.write_text("[keep]\nok = '7d'\n")
    settings = tmp_path / "settings.toml"
    settings.write_text(f'[retention]\npolicy = "{policy}"\n')
    served = Served(tmp_path / "data", tmp_path / "stderr.txt", "--config", str(settings))
    try:
        assert "would go" in served.run("retention", "plan")
        policy.chmod(0o666)
        policy.write_text("[keep]\nok = '1h'\n")
        done = subprocess.run(
            [sys.executable, "-m", "retrospan.ingest.cli.main", "retention", "apply"],
            env={**os.environ, "RETROSPAN_URL": f"http://{served.sql}"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 2
        assert f"{policy} can be written by others: its mode is 0666" in done.stderr
        policy.chmod(0o600)
        assert "would go" in served.run("retention", "plan")
    finally:
        served.kill()
