"""Tells cocotb tests about the component under test, across the simulator's process."""

import base64
import json
import os
import pickle
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, overload

from amaranth.lib.wiring import Member

from hdl.common.component import Component
from sim.harness.kept_layouts import keep_layouts

P = TypeVar("P")
JOB = "INGATHER_JOB"  #: environment variable: the folder with the files of a job
MEMBERS = "INGATHER_MEMBERS"  #: environment variable: what of a cluster is simulated
WORKLOAD = "INGATHER_WORKLOAD"  #: environment variable: what a session was asked for
FINDINGS = "INGATHER_RESULT"  #: environment variable: the file of what it finds


def to_text(value: Any) -> str:
    """Return ``value``, whatever it is, as text that an environment variable can hold."""
    return base64.b64encode(pickle.dumps(value)).decode()


def from_text(name: str) -> Any:
    """Return what :func:`to_text` put into environment variable ``name``."""
    if name not in os.environ:
        raise RuntimeError("this works only inside the simulator, in a cocotb test")
    return unpickled(os.environ[name])


@lru_cache
def unpickled(text: str) -> Any:
    """Return the value in ``text``; all parts of a bench share one object and its layouts."""
    return keep_layouts(pickle.loads(base64.b64decode(text)))


@overload
def params_in_simulator() -> Any: ...
@overload
def params_in_simulator(kind: type[P]) -> P: ...
def params_in_simulator(kind: type = object) -> Any:
    """Return, inside the simulator, the parameters of the component, which are a ``kind``."""
    params = from_text("INGATHER_PARAMS")
    if not isinstance(params, kind):
        raise TypeError(f"the parameters are {type(params).__name__}, not {kind.__name__}")
    return params


@lru_cache
def component_in_simulator() -> Component | None:
    """Return, inside the simulator, a component like the one under test, to read its layouts."""
    kind = from_text("INGATHER_COMPONENT")
    return None if kind is None else kind(params_in_simulator())


def declared_ports(dut: Any) -> Iterator[tuple[str, Member]]:
    """Yield name and member of each port that the component declares, if ``dut`` has it.

    One without bits is left out, and so is each of a component that is not known.
    """
    component = component_in_simulator()
    for path, member, _ in component.signature.flatten(component) if component else ():
        name = "_".join(map(str, path))
        if hasattr(dut, name):
            yield name, member


def workload_in_simulator(kind: type[P]) -> P:
    """Return, inside the simulator, what the session was asked for, which is a ``kind``."""
    requested = from_text(WORKLOAD)
    if not isinstance(requested, kind):
        raise TypeError(f"the workload is {type(requested).__name__}, not {kind.__name__}")
    return requested


def report(result: Any) -> None:
    """Give the session, from inside the simulator, what was found, if JSON can hold it."""
    Path(os.environ[FINDINGS]).write_text(json.dumps(result))
