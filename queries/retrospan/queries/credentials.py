"""How a client identifies itself and whom it trusts: a token, and for https:// the authority of the collector.

RETROSPAN_TOKEN is the token, RETROSPAN_CA a file of authorities in PEM instead of the system's, and
RETROSPAN_CERTIFICATE with RETROSPAN_KEY what the client shows to a collector that asks for a certificate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from retrospan.schemas.errors import ConfigError

if TYPE_CHECKING:
    import ssl

TOKEN, CA, CERTIFICATE, KEY = "RETROSPAN_TOKEN", "RETROSPAN_CA", "RETROSPAN_CERTIFICATE", "RETROSPAN_KEY"
#: Set by whoever asks for somebody else: in which words errors tell that one where the token comes from.
SOURCE = "RETROSPAN_TOKEN_SOURCE"


@dataclass(frozen=True, slots=True)
class Credentials:
    """What one client sends and trusts. Its representation does not show the token."""

    token: str = field(default="", repr=False)
    authority: str = ""
    certificate: str = ""
    key: str = ""
    source: str = TOKEN

    @classmethod
    def read(cls, environ: Mapping[str, str], token: str | None = None) -> Credentials:
        """Read them from the variables; `token` takes precedence over RETROSPAN_TOKEN.

        Raises:
            ConfigError: the token cannot be sent in a header; the message does not show it.
        """
        source = environ.get(SOURCE, TOKEN) if token is None else "token"
        text = (environ.get(TOKEN, "") if token is None else token).strip()
        if not all("!" <= character <= "~" for character in text):
            raise ConfigError(
                f"{source} holds something that is not a token: only printable ASCII without spaces."
            )
        authority, certificate, key = (environ.get(name, "").strip() for name in (CA, CERTIFICATE, KEY))
        return cls(text, authority, certificate, key, source)

    @property
    def told(self) -> str:
        """Where the token comes from, or that there is none, for error messages."""
        return f"from {self.source}" if self.token else f"{self.source} is not set"

    def headers(self) -> dict[str, str]:
        """Return the headers of every request."""
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    def context(self) -> ssl.SSLContext:
        """For https://: the collector must have a certificate of the authority, for the name in the URL.

        Raises:
            ConfigError: a file cannot be used; the message names its variable.
        """
        import ssl  # here: most questions go to this machine, without TLS

        try:
            context = ssl.create_default_context(cafile=self.authority or None)
        except OSError as error:
            raise ConfigError(
                f"{CA}: {self.authority} is not a file of certificates ({_reason(error)})."
            ) from error
        if self.certificate:
            try:
                context.load_cert_chain(self.certificate, self.key or None, password=_no_password)
            except (OSError, ValueError) as error:
                raise ConfigError(
                    f"{CERTIFICATE}, {KEY}: {self.certificate} and {self.key or 'no key'} are not a certificate "
                    f"and its key without a password ({_reason(error)})."
                ) from error
        return context


def _reason(error: Exception) -> str:
    return str(getattr(error, "reason", None) or getattr(error, "strerror", None) or error)


def _no_password() -> str:
    """Instead of a question on the terminal."""
    raise ValueError("it has a password")
