"""What cocotb tests are told of the component under test, across the simulator's process."""

import base64
import json
import os
import pickle
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, overload

from hdl.common.component import Component
from sim.harness.kept_layouts import keep_layouts

P = TypeVar("P")
WORKLOAD = "INGATHER_WORKLOAD"  #: environment variable: what a session was asked for
FOUND = "INGATHER_FOUND"  #: environment variable: the file of what it finds


def to_text(value: Any) -> str:
    """Anything, in a form that an environment variable can hold."""
    return base64.b64encode(pickle.dumps(value)).decode()


def from_text(name: str) -> Any:
    """What :func:`to_text` put into environment variable ``name``."""
    if name not in os.environ:
        raise RuntimeError("this works only inside the simulator, in a cocotb test")
    return unpickled(os.environ[name])


@lru_cache
def unpickled(text: str) -> Any:
    """Parameters are asked for by many parts of a bench, which share the layouts they keep."""
    return keep_layouts(pickle.loads(base64.b64decode(text)))


@overload
def params_in_simulator() -> Any: ...
@overload
def params_in_simulator(kind: type[P]) -> P: ...
def params_in_simulator(kind: type = object) -> Any:
    """Inside the simulator: the parameters of the component under test, which are a ``kind``."""
    params = from_text("INGATHER_PARAMS")
    if not isinstance(params, kind):
        raise TypeError(f"the parameters are {type(params).__name__}, not {kind.__name__}")
    return params


@lru_cache
def component_in_simulator() -> Component | None:
    """Inside the simulator: a component like the one under test, to read its layouts."""
    kind = from_text("INGATHER_COMPONENT")
    return None if kind is None else kind(params_in_simulator())


def workload_in_simulator(kind: type[P]) -> P:
    """Inside the simulator: what the session was asked for, which is a ``kind``."""
    asked = from_text(WORKLOAD)
    if not isinstance(asked, kind):
        raise TypeError(f"the workload is {type(asked).__name__}, not {kind.__name__}")
    return asked


def tell(found: Any) -> None:
    """Inside the simulator: hand the session what was found, in anything that JSON can hold."""
    Path(os.environ[FOUND]).write_text(json.dumps(found))
