"""A file named in the settings (a policy, rules, prices), read through the other process: this one cannot open it."""

from __future__ import annotations

import os
from pathlib import Path

from retrospan.ingest.channel import Arguments, Channel
from retrospan.ingest.prices.kept_prices import FILE
from retrospan.ingest.settings.config import Config
from retrospan.ingest.settings.trusted_file import Elsewhere, require_trusted
from retrospan.schemas.errors import ConfigError

NAMES = ("retention.policy", "interpreter.rules", "alerts.rules", "prices")


class RemoteFile(Elsewhere):
    """Its text is that of the file as it is now."""

    _channel: Channel
    _name: str

    @classmethod
    def of(cls, channel: Channel, name: str, path: Path) -> RemoteFile:
        """Return the file that a setting of this name gives."""
        file = cls(path)
        file._channel, file._name = channel, name
        return file

    def read_text(
        self, encoding: str | None = None, errors: str | None = None, newline: str | None = None
    ) -> str:
        """Raise OSError and UnicodeDecodeError as any path, and ConfigError for one that others could have written."""
        told = self._channel.call("setting", {"name": self._name})
        if "refused" in told:
            raise ConfigError(str(told["refused"]))
        if "error" in told:
            number, strerror = told["error"]
            raise OSError(number, strerror, str(self))
        data = bytes.fromhex(told["data"])
        return data.decode(encoding or "utf-8", errors or "strict")


def read_setting(config: Config, asked: Arguments) -> dict[str, object]:
    """Return what the process that has the files answers to `RemoteFile.read_text`."""
    named = (config.retention.policy, config.interpreter.rules, config.alerts.rules, config.data / FILE)
    files = dict(zip(NAMES, named, strict=True))
    file = files[asked["name"]]
    assert file is not None, "only of a file that the settings name"
    try:
        if (
            file != config.data / FILE
        ):  # what the collector keeps in its own directory is as trusted as its log
            require_trusted(file)
        return {"data": file.read_bytes().hex()}
    except ConfigError as error:
        return {"refused": str(error)}
    except OSError as error:
        return {"error": [error.errno or 0, os.strerror(error.errno or 0)]}
