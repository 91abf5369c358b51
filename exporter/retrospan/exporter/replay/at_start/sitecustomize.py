"""What the interpreter loads at its start where `retrospan replay` and `retrospan fork` put this folder on its path."""

import gc
import os
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec

sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != os.path.dirname(__file__)]

#: What is loaded and read here stays: looking for garbage among it, now and later, would only cost time.
_collects = gc.isenabled()
gc.disable()
try:
    from retrospan.exporter.replay.starting import begin

    begin(os.path.dirname(__file__))
except BaseException as error:  # noqa: BLE001 - the interpreter would go on, and let the agent loose
    sys.stderr.write(
        f"retrospan: the replay could not begin: {type(error).__name__}: {error}. {sys.executable} needs retrospan.\n"
    )
    sys.stderr.flush()
    os._exit(2)
gc.freeze()
if _collects:
    gc.enable()

#: The one that is hidden by this one, if there is any.
_hidden = PathFinder.find_spec("sitecustomize")
if _hidden is not None and _hidden.loader is not None:
    _hidden.loader.exec_module(module_from_spec(_hidden))
