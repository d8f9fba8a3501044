"""Verilog that was emitted before, found again by what it is made from.

In simulations components assert what they expect of their surroundings, unless coverage is
measured.

Elaborating a component takes as long as many a simulation of it. It depends on nothing but the
modules of its class and of its parameters' classes with all that these import, the parameters and
two packages; those who change classes at run time, call ``emit``. A process keeps nothing of files
that were edited since it began: what it has imported may be older than they are.
"""

import pickle
import sys
import time
from contextlib import nullcontext
from dataclasses import fields
from functools import cached_property, lru_cache
from importlib.metadata import version
from pathlib import Path
from pickletools import genops
from typing import Any

from gen.emission.emit import Emission, EmittedModule, emit
from hdl.common.component import Component
from sim.harness.cache import cached_folder, digest
from sim.harness.closure import OURS, SOURCES, digest_of
from sim.harness.coverage_runs import covers
from sim.harness.expectations import asserting

FILE = "emission.pickle"
LEFT_OUT = ("component", "rtlil")
KEPT = [field.name for field in fields(EmittedModule) if field.name not in LEFT_OUT]
EMITTERS = ("gen.emission.emit", "sim.harness.expectations")
PACKAGES = ("amaranth", "pyosys")
STARTED = time.time()  #: when this process began to import, as a file's time of change


class KnownModule(EmittedModule):
    """A module of an emission that was kept: all but its component and its RTLIL.

    Whoever asks for one of those has the whole emitted anew.
    """

    def __init__(
        self, content: dict[str, Any], kind: type[Component], whole: "LazyEmission"
    ) -> None:
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


class LazyEmission:
    """An emission that is made when it is asked for, and not before."""

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
    lazy = LazyEmission(component, asserts=not (generated or covers()))
    try:
        key = key_of(type(component), component.params, lazy.asserts)
        folder, fresh = cached_folder("emissions", key, lambda folder: keep(lazy.emission, folder))
    except (pickle.PicklingError, AttributeError, TypeError, LookupError):
        return lazy.emission
    return lazy.emission if fresh else known(folder, lazy)


def keep(emission: Emission, folder: Path) -> None:
    """Leave what :func:`known` finds. Raises as pickle does."""
    content = [
        ({name: getattr(module, name) for name in KEPT}, type(module.component))
        for module in emission.modules.values()
    ]
    (folder / FILE).write_bytes(pickle.dumps(content, protocol=5))


def known(folder: Path, lazy: LazyEmission) -> Emission:
    """The emission that was kept in ``folder``."""
    content = pickle.loads((folder / FILE).read_bytes())
    modules = [KnownModule(values, kind, lazy) for values, kind in content]
    return Emission({module.name: module for module in modules})


def key_of(kind: type[Component], params: Any, asserts: bool) -> str:
    """Equal keys are equal emissions.

    Raises as pickle does, and LookupError for a class of no module that has a file, or of one that
    was edited since this process began.
    """
    subject = pickle.dumps((kind, params), protocol=5)
    modules = {kind.__module__, *modules_in(subject), *EMITTERS}
    if SOURCES.edited(modules, STARTED):
        raise LookupError(f"{kind.__module__} or what it imports was edited meanwhile")
    return digest(subject.hex(), f"asserts {asserts}", digest_of(sorted(modules)), tools())


def modules_in(pickled: bytes) -> set[str]:
    """The modules of all classes in a pickle that have a file to follow."""
    texts = (text for _, text, _ in genops(pickled) if isinstance(text, str))
    return {text for text in texts if text.partition(".")[0] in OURS and SOURCES.file_of(text)}


@lru_cache
def tools() -> str:
    """The packages that elaborate, and their versions."""
    return " ".join([*(f"{name} {version(name)}" for name in PACKAGES), sys.version])
