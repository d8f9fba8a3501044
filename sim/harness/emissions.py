"""Verilog that was emitted before, found again by what it is made from.

In simulations components assert what they expect of their surroundings, unless coverage is
measured.

Elaborating a component takes as long as many a simulation of it. It depends on nothing but the
sources, the parameters and two packages; those who change classes at run time, call ``emit``.
"""

import pickle
import sys
from contextlib import nullcontext
from dataclasses import fields
from functools import cached_property, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from gen.emission.emit import Emission, EmittedModule, emit
from hdl.common.component import Component
from sim.harness.cache import CHECKOUT, cached_folder, digest
from sim.harness.expectations import asserting
from sim.harness.harvest import covers

FILE = "emission.pickle"
LEFT_OUT = ("component", "rtlil")
KEPT = [field.name for field in fields(EmittedModule) if field.name not in LEFT_OUT]
EMITTERS = (
    "sim/harness/expectations.py",
    "gen/emission/emit.py",
    "gen/emission/intervals.py",
    "gen/emission/lean_rtlil.py",
    "gen/emission/narrowing.py",
)
PACKAGES = ("amaranth", "pyosys")
OURS = ("hdl", "sim", "gen", "tests")  #: where a component that is not of hdl may take from


class KnownModule(EmittedModule):
    """A module of an emission that was kept: all but its component and its RTLIL.

    Whoever asks for one of those has the whole emitted anew.
    """

    def __init__(self, content: dict[str, Any], kind: type[Component], whole: "Again") -> None:
        self.__dict__.update(content)
        self._kind = kind
        self._whole = whole

    @property
    def kind(self) -> type[Component]:
        """The class of its component."""
        return self._kind

    def __getattribute__(self, name: str) -> Any:
        if name in LEFT_OUT:
            return getattr(self._whole.emission.modules[self.name], name)
        return super().__getattribute__(name)


class Again:
    """An emission that is made if it is asked for."""

    def __init__(self, component: Component, asserts: bool) -> None:
        self.component = component
        self.asserts = asserts

    @cached_property
    def emission(self) -> Emission:
        """The whole of it."""
        with asserting() if self.asserts else nullcontext():
            return emit(self.component)


def emission_of(component: Component, *, generated: bool = False) -> Emission:
    """The Verilog of ``component``: from the cache, or emitted and kept there.

    ``generated``: as it is given to users, without the assertions of simulations. What cannot be
    pickled, such as a class inside a function, is emitted every time.
    """
    again = Again(component, asserts=not (generated or covers()))
    try:
        key = key_of(type(component), component.params, again.asserts)
        folder, fresh = cached_folder("emissions", key, lambda folder: keep(again.emission, folder))
    except (pickle.PicklingError, AttributeError, TypeError):
        return again.emission
    return again.emission if fresh else known(folder, again)


def keep(emission: Emission, folder: Path) -> None:
    """Leave what :func:`known` finds. Raises as pickle does."""
    content = [
        ({name: getattr(module, name) for name in KEPT}, type(module.component))
        for module in emission.modules.values()
    ]
    (folder / FILE).write_bytes(pickle.dumps(content, protocol=5))


def known(folder: Path, again: Again) -> Emission:
    """The emission that was kept in ``folder``."""
    content = pickle.loads((folder / FILE).read_bytes())
    modules = [KnownModule(values, kind, again) for values, kind in content]
    return Emission({module.name: module for module in modules})


def key_of(kind: type[Component], params: Any, asserts: bool) -> str:
    """Equal keys are equal emissions. Raises as pickle does."""
    subject = pickle.dumps((kind, params), protocol=5)
    return digest(
        subject.hex(), f"asserts {asserts}", sources(kind.__module__.partition(".")[0]), tools()
    )


@lru_cache
def sources(package: str) -> str:
    """A digest of all that a component of ``package`` may be made from."""
    folders = ["hdl"] if package == "hdl" else OURS
    paths = [CHECKOUT / emitter for emitter in EMITTERS]
    for folder in folders:
        paths += [path for path in (CHECKOUT / folder).rglob("*.py") if path.is_file()]
    named = sorted((str(path.relative_to(CHECKOUT)), path) for path in paths)
    return digest(*(part for name, path in named for part in (name, path.read_text())))


@lru_cache
def tools() -> str:
    """The packages that elaborate, and their versions."""
    return " ".join([*(f"{name} {version(name)}" for name in PACKAGES), sys.version])
