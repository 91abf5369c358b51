"""The state that an agent begins with when a run is forked: what was recorded at the step, with something changed.

    from retrospan.exporter.replay import initial_state

    state = initial_state({"order": "A-17", "refunded": False})

Outside a fork the agent gets what it brings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, is_dataclass
from difflib import get_close_matches
from typing import Any, TypeVar, cast

from retrospan.exporter.replay.callers import caller
from retrospan.exporter.replay.current import current
from retrospan.schemas.bundle.form import Json, RunRecord, StateAt
from retrospan.schemas.errors import ConfigError
from retrospan.schemas.replacing import NoSuchPart, replaced

State = TypeVar("State")
_REDACTED, _CUT = "[redacted:", "$cut"


@dataclass(frozen=True, slots=True)
class Beginning:
    """The state at a step, and the first step that is still to be done from there."""

    state: dict[str, Json]
    first: int


def initial_state(default: State, make: Callable[[dict[str, Any]], State] | None = None) -> State:
    """Return the state that the agent begins with: `default`, or in a fork that changes it, the state at its step.

    A recorded state is JSON; `make` makes the program's own object of it. For dicts, dataclasses and pydantic models it
    is not needed. What the agent did before that step is not asked for again.

    Raises ConfigError in such a fork if nothing says how to make the state.
    """
    replaying = current()
    if replaying is None or replaying.beginning is None:
        return default
    made = make or _maker(default)
    return made(replaying.give_state(caller(), replaying.beginning.first))


def _maker(default: State) -> Callable[[dict[str, Any]], State]:
    kind = type(default)
    if default is None or isinstance(default, dict):
        return lambda state: cast(State, state)
    if hasattr(kind, "model_validate"):
        return cast("Callable[[dict[str, Any]], State]", cast(Any, kind).model_validate)
    if is_dataclass(kind):
        return lambda state: cast(Any, kind)(**state)
    raise ConfigError(
        f"initial_state: say how a {kind.__name__} is made of a dict: initial_state(…, make=…)."
    )


def beginning(runs: Sequence[RunRecord], step: int, changes: Mapping[str, object]) -> Beginning:
    """Return the state of a run at a step with changes: values by paths of keys with dots between them.

    Raises ConfigError: the run is not alone, has no states, none that is known at the step, no such key, or one whose
    value is not on record.
    """
    if len(runs) != 1:
        raise ConfigError(
            f"a state is set of one run, and these are {len(runs)}: name one, or make a bundle of it."
        )
    run = runs[0]
    if not run.states:
        raise ConfigError(
            f"run {run.run_id} has no states on record. They are recorded by hooks of frameworks (docs/hooks.md), and by "
            "`state=` of run and step (docs/recording.md)."
        )
    for path in changes:
        _check(path, run.states)
    found = _at(run, step)
    state: object = deepcopy(dict(found.state))
    for path, value in changes.items():
        try:
            state = replaced(state, path.split("."), value)
        except NoSuchPart as error:
            raise ConfigError(f"state.{path}: {error}.") from error
    for path, why in _losses(state):
        raise ConfigError(
            f"state.{path} {why}, and is not on record: give it a value with --set state.{path}=…."
        )
    return Beginning(cast("dict[str, Json]", state), found.first)


def _at(run: RunRecord, step: int) -> Beginning:
    """Return the state before a step: the step's own, else that after the last step before it that has one."""
    for each in run.states:
        if each.step == step and each.before is not None:
            return Beginning(dict(each.before), step)
    earlier = [each for each in run.states if each.step < step and each.after is not None]
    if earlier:
        last = max(earlier, key=lambda each: each.step)
        assert last.after is not None
        return Beginning(dict(last.after), last.step + 1)
    known = ", ".join(str(each.step) for each in run.states if each.before is not None) or "no step"
    raise ConfigError(f"the state at step {step} is not on record; that of these steps is: {known}.")


def _check(path: str, states: Sequence[StateAt]) -> None:
    """Raise ConfigError if no state of the run has such a key, and name the nearest."""
    values: list[Json] = [each for at in states for each in (at.before, at.after) if each is not None]
    above: list[str] = []
    for name in path.split("."):
        keys = dict.fromkeys(key for value in values for key in _keys(value))
        if name not in keys:
            where = ".".join(["state", *above])
            near = get_close_matches(name, keys, 1, 0.4)
            listed = ", ".join([*keys][:20]) or "no keys at all"
            hint = f" Did you mean {where}.{near[0]}?" if near else ""
            raise ConfigError(
                f"state.{path}: {where} has no key {name!r} in this run; it has {listed}.{hint}"
            )
        values = [_part(value, name) for value in values if name in _keys(value)]
        above.append(name)


def _keys(value: Json) -> list[str]:
    if isinstance(value, Mapping):
        return [*cast("Mapping[str, Json]", value)]
    return [str(place) for place in range(len(cast("list[Json]", value)))] if isinstance(value, list) else []


def _part(value: Json, name: str) -> Json:
    if isinstance(value, Mapping):
        return cast("Mapping[str, Json]", value)[name]
    return cast("list[Json]", value)[int(name)]


def _losses(value: Json, above: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Yield the paths of values that were taken out of the record, and how."""
    if isinstance(value, str):
        if _REDACTED in value:
            yield ".".join(above), "was redacted"
    elif isinstance(value, Mapping) and _CUT in value:
        yield ".".join(above), "was cut for its size"
    else:
        for name in _keys(value):
            yield from _losses(_part(value, name), (*above, name))
