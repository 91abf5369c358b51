"""Plain functions as tools: the decorator `tool`, and functions that are named from outside as module:function."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar, cast, overload

from retrospan.exporter.hooks.watch import when_imported
from retrospan.exporter.replay.callers import is_own
from retrospan.exporter.replay.current import current
from retrospan.exporter.replay.exchange import Wanted
from retrospan.exporter.replay.tools.cancelled import value_or_wait
from retrospan.exporter.replay.tools.given import as_json, inside, is_inside, value_of
from retrospan.schemas.bundle.form import ToolCall
from retrospan.schemas.errors import ConfigError

Function = TypeVar("Function", bound=Callable[..., Any])
Effect = Literal["none", "read", "write", "destructive"]
_MARK = "__retrospan_tool__"
_MAIN = "__main__"


@overload
def tool(function: Function) -> Function: ...
@overload
def tool(*, name: str | None = None, effect: Effect | None = None) -> Callable[[Function], Function]: ...
def tool(
    function: Function | None = None, *, name: str | None = None, effect: Effect | None = None
) -> Function | Callable[[Function], Function]:
    """Mark a plain function as a tool: in a replay it is answered from the record, and not run.

    Args:
        name: What the model calls it; by default the function's own name.
        effect: What it does to the world; a tool that writes is never run in a replay.
    """
    if function is None:
        return cast("Callable[[Function], Function]", partial(_marked, name=name, effect=effect))
    return _marked(function, name=name, effect=effect)


def _marked(function: Function, *, name: str | None, effect: str | None) -> Function:
    if inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function):
        raise ConfigError(f"tool: {function.__qualname__} yields its result; a tool returns it.")
    named = name or function.__name__
    signature = inspect.signature(function)

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def call_async(*args: Any, **kwargs: Any) -> Any:
            found = _answer(named, effect, signature, args, kwargs)
            if found is not None:
                return await value_or_wait(found)
            with inside() as ran:
                return ran(await function(*args, **kwargs))

        made: Any = call_async
    else:

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            found = _answer(named, effect, signature, args, kwargs)
            if found is not None:
                return value_of(found)
            with inside() as ran:
                return ran(function(*args, **kwargs))

        made = call
    setattr(made, _MARK, True)
    # Some frameworks look at the arguments without asking what is wrapped.
    made.__signature__ = signature
    return cast(Function, made)


def _answer(
    name: str,
    effect: str | None,
    signature: inspect.Signature,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> ToolCall | None:
    replaying = current()
    if replaying is None or is_inside():
        return None
    bound = signature.bind(*args, **kwargs)
    given = _plain(bound.arguments)
    bound.apply_defaults()
    return replaying.tool(Wanted(name, given, (_plain(bound.arguments),), effect=effect))


def _plain(arguments: dict[str, Any]) -> object:
    return as_json({key: value for key, value in arguments.items() if key not in ("self", "cls")})


def install(names: Sequence[str]) -> None:
    """Make tools of functions that are named as `module:function`, now or right after the import of their module.

    Raises ConfigError for a name in another form, or for a function that is not there.
    """
    for named in names:
        module, function = _split(named)
        if module == _MAIN and not hasattr(sys.modules[_MAIN], "__file__"):
            # It is not there before its code has run: `install_of_program` sees to it.
            continue
        if module in sys.modules:
            _install(module, function)
        else:
            when_imported(module, partial(_install, module, function))


def _split(named: str) -> tuple[str, str]:
    module, colon, function = named.partition(":")
    if not (module and colon and function):
        raise ConfigError(
            f"tools: {named!r} names no function; write module:function, as shop.tools:send_email."
        )
    return module, function


def install_of_program(names: Sequence[str]) -> None:
    """Make tools of the named functions of the program that runs, once its code has: as `__main__`, or by the name of
    its file.

    Raises ConfigError for a function that is not there.
    """
    _Program.file = _program_file()
    for module, function in map(_split, names):
        if module == _MAIN or _is_program(module):
            _install(_MAIN, function)


class _Program:
    """The program that runs: the interpreter forgets its file when the code of it has ended."""

    file: object = None


def _program_file() -> object:
    return getattr(sys.modules.get(_MAIN), "__file__", None) or _Program.file


def _is_program(module: str) -> bool:
    """Tell whether a module that nobody imported is the file that runs."""
    file = _program_file()
    return module not in sys.modules and isinstance(file, str) and Path(file).stem == module


def never_loaded(names: Sequence[str]) -> tuple[str, ...]:
    """Return the named functions whose modules were never imported, so that nothing was made a tool."""
    return tuple(
        named
        for named in names
        if (module := _split(named)[0]) not in sys.modules and not _is_program(module)
    )


def places_of(names: Iterable[str]) -> dict[str, str]:
    """Return where functions of these names are in the program's own modules, each as `module:function`."""
    found = dict[str, str]()
    for key, module in list(sys.modules.items()):
        if not is_own(_program_file() if key == _MAIN else getattr(module, "__file__", None)):
            continue
        for name in names:
            function = vars(module).get(name)
            if inspect.isfunction(function) and function.__module__ == key and not hasattr(function, _MARK):
                found.setdefault(name, f"{key}:{name}")
    return found


def _install(module: str, function: str) -> None:
    """Replace the function in its module, and in the lists and tables that the module made of its functions."""
    place = sys.modules[module]
    original = getattr(place, function, None)
    if not callable(original):
        raise ConfigError(f"tools: the module {module} has no function {function}.")
    if hasattr(original, _MARK):
        return
    made = _marked(original, name=None, effect=None)
    setattr(place, function, made)
    for value in vars(place).values():
        if isinstance(value, list):
            items = cast("list[object]", value)
            items[:] = [made if item is original else item for item in items]
        elif isinstance(value, dict):
            table = cast("dict[object, object]", value)
            for key in [key for key, item in table.items() if item is original]:
                table[key] = made
