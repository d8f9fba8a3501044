"""Puts together designs that are no single component, with modules that are written in Verilog."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from gen.base.emission.emit import Emission, EmittedModule
from hdl.common.component import Component


class Assembly(Component):
    """Combines components and modules that are written in Verilog, such as models of a vendor's IP.

    It is simulated as a component is, by :func:`sim.harness.verilator.simulate`.
    """

    def __init__(self, params: Any) -> None:
        super().__init__(params, {})

    def emission(self, emit: Callable[[Component], Emission]) -> Emission:
        """Return all modules, the top last; ``emit`` emits a component."""
        raise NotImplementedError


class Written(Component):
    """Marks a module that is written in Verilog."""

    def __init__(self, params: None = None) -> None:
        super().__init__(params, {})


def assembled(component: Component, emit: Callable[[Component], Emission]) -> Emission:
    """Return the emission of ``component`` by ``emit``, or the one that an assembly makes."""
    return component.emission(emit) if isinstance(component, Assembly) else emit(component)


def together(
    parts: Iterable[Component], texts: Mapping[str, str], emit: Callable[[Component], Emission]
) -> Emission:
    """Put components and written modules, by name, into one emission; the last text is the top.

    A text takes the place of the module of that name, which keeps its ports.
    """
    modules: dict[str, EmittedModule] = {}
    for part in parts:
        modules |= emit(part).modules
    for name, text in texts.items():
        known = modules.pop(name, EmittedModule(name, Written))
        modules[name] = replace(known, verilog=text)
    return Emission(modules)
