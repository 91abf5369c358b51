"""Certificates for tests, made with the openssl program: a test that needs them fails where it is missing."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Pair:
    """A certificate and its key, in PEM."""

    certificate: Path
    key: Path


@dataclass(frozen=True)
class Certificates:
    """What a collector and its clients may show."""

    authority: Path
    other_authority: Path
    server: Pair
    """For localhost and 127.0.0.1."""
    elsewhere: Pair
    """Of the same authority, for another name."""
    client: Pair
    expired: Pair
    stranger: Pair
    """A client's, of the other authority."""


def make_certificates(directory: Path) -> Certificates:
    """Make them anew; takes well under a second."""
    authority = _authority(directory, "authority")
    other = _authority(directory, "other")
    return Certificates(
        authority.certificate,
        other.certificate,
        server=_issued(directory, "server", authority, names="DNS:localhost,IP:127.0.0.1"),
        elsewhere=_issued(directory, "elsewhere", authority, names="DNS:elsewhere.example"),
        client=_issued(directory, "client", authority),
        expired=_issued(directory, "expired", authority, days=-1),
        stranger=_issued(directory, "stranger", other),
    )


def _authority(directory: Path, name: str) -> Pair:
    pair = Pair(directory / f"{name}.pem", directory / f"{name}.key")
    _openssl(
        *("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
        *("-days", "2", "-subj", f"/CN={name}", "-addext", "keyUsage=critical,keyCertSign,cRLSign"),
        *("-keyout", str(pair.key), "-out", str(pair.certificate)),
    )
    return pair


def _issued(directory: Path, name: str, authority: Pair, *, names: str = "", days: int = 2) -> Pair:
    pair = Pair(directory / f"{name}.pem", directory / f"{name}.key")
    request, extensions = directory / f"{name}.csr", directory / f"{name}.ext"
    _openssl(
        *("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
        *("-subj", f"/CN={name}", "-keyout", str(pair.key), "-out", str(request)),
    )
    lines = [
        "basicConstraints=CA:FALSE",
        "authorityKeyIdentifier=keyid",
        *([f"subjectAltName={names}"] if names else []),
    ]
    extensions.write_text("\n".join(lines) + "\n")
    _openssl(
        *(
            "x509",
            "-req",
            "-in",
            str(request),
            "-CA",
            str(authority.certificate),
            "-CAkey",
            str(authority.key),
        ),
        *("-CAcreateserial", "-days", str(days), "-extfile", str(extensions), "-out", str(pair.certificate)),
    )
    return pair


def _openssl(*words: str) -> None:
    done = subprocess.run(["openssl", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
