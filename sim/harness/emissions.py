"""Finds modules that were emitted before by what they are made from.

Elaborating a component takes as long as many a simulation of it, and a part stands in many designs:
each distinct module is elaborated and translated once, whichever design asked for it first. It
depends on nothing but the modules of its class and of its parameters' classes with all that these
import, the parameters and two packages; those who change classes at run time, call ``emit``. A
process keeps nothing of files that were edited since it began: what it has imported may be older
than they are.

In simulations components assert what they expect of their surroundings, unless coverage is
measured.
"""

import os
import pickle
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import nullcontext, suppress
from dataclasses import fields
from functools import cache
from importlib.metadata import version
from pathlib import Path
from pickletools import genops
from typing import Any

from gen.base.emission.emit import Emission, EmittedModule, emit
from hdl.common.component import Component
from sim.harness.cache import cached_folder, digest, result_folder
from sim.harness.closure import OWN, SOURCES, digest_of
from sim.harness.coverage_runs import covers
from sim.harness.expectations import EXPECTS, asserting

KIND = "modules"  #: name of the cache's folders
FILE = "module.pickle"
STORED = [field.name for field in fields(EmittedModule)]
EMITTERS = ("gen.base.emission.emit", "sim.harness.expectations")
PACKAGES = ("amaranth", "pyosys")


def process_began() -> float:
    """Return when this process began, as a file's time of change; see proc(5), ``starttime``.

    It may have imported much before this module.
    """
    fields_behind_name = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    since_boot = int(fields_behind_name[19]) / os.sysconf("SC_CLK_TCK")
    return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + since_boot


STARTED = process_began()


class ModuleCache:
    """Keeps modules in the cache, with or without assertions of what they expect.

    A module is there only if all below it are. What cannot be pickled, such as a class inside a
    function, is not, and neither is what stands above it. A module that expects nothing itself is
    the same either way.
    """

    def __init__(self, asserts: bool) -> None:
        self._asserts = asserts
        self._path = "asserts" if asserts else "generated"
        self._key = cache(key_of)
        self._keys: dict[str, str] = {}  # of those modules that are in the cache, by their names

    def find(self, component: Component) -> list[EmittedModule]:
        """Return the modules of ``component``, its own last; none if one of them is missing."""
        result: dict[str, EmittedModule] = {}
        try:
            self._load(self._key(type(component), component.params), result)
        except (*UNKEPT, FileNotFoundError):
            return []
        self._keys.update((module.name, key) for key, module in result.items())
        return list(result.values())

    def _load(self, key: str, result: dict[str, EmittedModule]) -> None:
        """Add the module of ``key``, and before it those below it; FileNotFoundError if absent."""
        if key in result:
            return
        try:
            folder = result_folder(KIND, key)
        except FileNotFoundError:
            folder = result_folder(KIND, f"{key}-{self._path}")
        values, below = pickle.loads((folder / FILE).read_bytes())
        for child in below:
            self._load(child, result)
        result[key] = EmittedModule(**dict(zip(STORED, values, strict=True)))

    def keep(self, modules: Iterable[EmittedModule]) -> None:
        """Put ``modules`` into the cache, where :meth:`find` finds them."""
        for module in modules:
            with suppress(*UNKEPT):
                below = [self._keys[name] for name in module.instances]
                content = pickle.dumps(([getattr(module, name) for name in STORED], below), 5)
                key = self._key(module.kind, module.params)
                either = self._asserts and EXPECTS not in module.rtlil
                folder = key if either else f"{key}-{self._path}"
                cached_folder(KIND, folder, lambda target, text=content: write(target, text))
                self._keys[module.name] = key


#: lists errors that are raised for a module that cannot be kept
UNKEPT = (pickle.PicklingError, AttributeError, TypeError, LookupError)


def write(folder: Path, content: bytes) -> None:
    """Write ``content`` into the folder of a module."""
    (folder / FILE).write_bytes(content)


def emission_of(
    component: Component,
    *,
    generated: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Emission:
    """Emit ``component``, with the modules that the cache has and those that it lacks.

    ``generated``: as it is given to users, without the assertions of simulations. ``progress``
    hears the name of each module that is elaborated.
    """
    asserts = not (generated or covers())
    with asserting() if asserts else nullcontext():
        return emit(component, progress, ModuleCache(asserts))


def key_of(kind: type[Component], params: Any) -> str:
    """Return a key that is equal for equal modules, whatever they assert.

    Raises as pickle does, and LookupError for a class of no module that has a file, or of one that
    was edited since this process began.
    """
    subject = pickle.dumps((kind, params), protocol=5)
    modules = {kind.__module__, *modules_in(subject), *EMITTERS}
    if SOURCES.edited(modules, STARTED):
        raise LookupError(f"{kind.__module__} or what it imports was edited meanwhile")
    return digest(subject.hex(), digest_of(sorted(modules)), tools())


def modules_in(pickled: bytes) -> set[str]:
    """Return the modules of all classes in a pickle that have a file to follow."""
    texts = (text for _, text, _ in genops(pickled) if isinstance(text, str))
    return {text for text in texts if text.partition(".")[0] in OWN and SOURCES.file_of(text)}


@cache
def tools() -> str:
    """Return the packages that elaborate, with their versions."""
    return " ".join([*(f"{name} {version(name)}" for name in PACKAGES), sys.version])
