"""The TLS files are read when a collector starts, and never later: not even when its warehouse begins anew."""

from __future__ import annotations

import json
import os
import signal
import ssl
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import pytest
from certificates import make_certificates
from fix_collector import Served

from retrospan.ingest.access.tls import context_of, read_pem
from retrospan.ingest.settings.config import TlsSettings


def test_what_was_read_stands_whatever_becomes_of_the_files(tmp_path: Path) -> None:
    made = make_certificates(tmp_path)
    settings = TlsSettings(made.server.certificate, made.server.key, made.authority)
    pem = read_pem(settings)
    assert pem.keys() == {"certificate", "key", "client_ca"}
    for file in (made.server.certificate, made.server.key, made.authority):
        file.unlink()
    context = context_of(pem)
    assert context is not None
    assert (context.verify_mode, context.minimum_version) == (ssl.CERT_REQUIRED, ssl.TLSVersion.TLSv1_2)
    assert len(context.get_ca_certs()) == 1
    assert read_pem(None) == {} and context_of({}) is None


@pytest.mark.long
@pytest.mark.requirement("R36")
def test_a_half_written_certificate_does_not_keep_the_warehouse_from_beginning_anew(tmp_path: Path) -> None:
    made = make_certificates(tmp_path)
    settings = tmp_path / "settings.toml"
    settings.write_text(f'[tls]\ncertificate = "{made.server.certificate}"\nkey = "{made.server.key}"\n')
    collector = Served(tmp_path / "data", tmp_path / "stderr.txt", "--config", str(settings))
    trusting = ssl.create_default_context(cafile=str(made.authority))

    def answer(query: str) -> str:
        try:
            with urlopen(f"https://{collector.sql}{query}", context=trusting, timeout=30) as reply:
                return str(reply.read().decode())
        except HTTPError as error:
            with error:
                return f"{error.code}"
        except (URLError, ConnectionError) as error:
            return str(error)

    try:
        assert answer("/?query=SELECT+1") == "1\n"
        made.server.certificate.write_bytes(made.server.certificate.read_bytes()[:200])
        children = Path(f"/proc/{collector.process.pid}/task/{collector.process.pid}/children")
        if not children.exists():
            pytest.skip("this system does not tell who is whose child")
        tasks = Path(f"/proc/{collector.process.pid}/task")
        pids = [int(pid) for task in tasks.iterdir() for pid in (task / "children").read_text().split()]
        assert len(pids) == 1
        os.kill(pids[0], signal.SIGKILL)
        collector.until(lambda: "the warehouse answers again" in collector.stderr(), 120.0)
        assert answer("/?query=SELECT+1") == "1\n"
        assert json.loads(answer("/health"))["warehouse_restarts"] == 1
    finally:
        collector.kill()
