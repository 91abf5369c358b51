"""The arguments of `verify`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from retrospan.schemas.errors import BadRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyRequest:
    """Without `full` or a `run` a sample is looked at, which the `seed` draws; 0 draws another each time."""

    full: bool = False
    run: str = ""
    derived: bool = False
    expect: str = ""
    seed: int = 0

    @classmethod
    def of(cls, arguments: Mapping[str, object]) -> VerifyRequest:
        """Read the arguments of the command.

        Raises:
            BadRequest: one is unknown, or a value is not of its type.
        """
        defaults = {field.name: field.default for field in fields(cls)}
        for name, value in arguments.items():
            if name not in defaults:
                raise BadRequest(f"verify does not take '{name}'. It takes: {', '.join(defaults)}.")
            # The id of a run is as long as its agent made it; heads and the like are not.
            is_long = isinstance(value, str) and name != "run" and len(value) > 1000
            if type(value) is not type(defaults[name]) or is_long:
                raise BadRequest(
                    f"verify: '{name}' is {str(value)[:80]!r}, which has the wrong type, or is too long."
                )
            if type(value) is int and not 0 <= value < 2**63:
                raise BadRequest(f"verify: '{name}' is {value}, which is out of range.")
        asked = cls(**arguments)  # type: ignore[arg-type]  # each was looked at above
        if asked.full and asked.run:
            raise BadRequest("verify: 'full' means everything, 'run' one run: give only one of them.")
        return asked
