"""What is simulated as a whole though no component is that whole: a design with written Verilog."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from gen.emission.emit import Emission, EmittedModule
from hdl.common.component import Component


class Assembly(Component):
    """Components and modules that are written in Verilog, such as models of a vendor's IP.

    It is simulated as a component is, by :func:`sim.harness.verilator.simulate`.
    """

    def __init__(self, params: Any) -> None:
        super().__init__(params, {})

    def emission(self, emit: Callable[[Component], Emission]) -> Emission:
        """All modules, the top last; ``emit`` emits a component."""
        raise NotImplementedError


class Written(Component):
    """A module that is written in Verilog."""

    def __init__(self, params: None = None) -> None:
        super().__init__(params, {})


def assembled(component: Component, emit: Callable[[Component], Emission]) -> Emission:
    """The emission of ``component`` by ``emit``, or of an assembly its own."""
    return component.emission(emit) if isinstance(component, Assembly) else emit(component)


def together(
    parts: Iterable[Component], texts: Mapping[str, str], emit: Callable[[Component], Emission]
) -> Emission:
    """Components and written modules, by name, in one emission; the last of ``texts`` is the top.

    A text takes the place of the module of that name, which keeps its ports.
    """
    modules: dict[str, EmittedModule] = {}
    for part in parts:
        modules |= emit(part).modules
    for name, text in texts.items():
        known = modules.pop(name, EmittedModule(name, Written))
        modules[name] = replace(known, verilog=text)
    return Emission(modules)
