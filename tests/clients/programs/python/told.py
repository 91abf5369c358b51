"""How the programs tell what they found: a line for each check, its name and what came, divided by a tab."""

from collections.abc import Callable


def check(name: str, asked: Callable[[], object]) -> None:
    try:
        got = str(asked())
    except Exception as error:  # noqa: BLE001 - a failure is what it tells
        got = f"FAILED: {type(error).__name__}: {error}"
    print(f"{name}\t{got}".replace("\n", "\\n"))


def expect_error(kind: type[Exception], words: str, asked: Callable[[], object]) -> str:
    """'an error' if it is raised and says these words."""
    try:
        return f"no error: {asked()}"
    except kind as error:
        return "an error" if words in str(error) else f"another: {error}"
