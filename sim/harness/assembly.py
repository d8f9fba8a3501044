"""What is simulated as a whole though no component is that whole: parts in a top of Verilog."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gen.emission.emit import Emission, EmittedModule
from hdl.common.component import Component


class Assembly(Component):
    """A top that is written in Verilog, around components and around models of other modules.

    It is simulated as a component is, by :func:`sim.harness.verilator.simulate`.
    """

    name = ""  #: of its module, which the Verilog gives it

    def __init__(self, params: Any) -> None:
        super().__init__(params, {})

    def parts(self) -> Sequence[Component]:
        """The components to emit."""
        raise NotImplementedError

    def models(self) -> Mapping[str, str]:
        """Verilog of modules that the parts place and nobody emits, by name."""
        raise NotImplementedError

    def text(self) -> str:
        """Verilog of the top."""
        raise NotImplementedError


class Model(Component):
    """A module that somebody wrote in Verilog, as the model of a vendor's IP."""

    def __init__(self, params: None = None) -> None:
        super().__init__(params, {})


def assembled(component: Component, emit: Callable[[Component], Emission]) -> Emission:
    """The emission of ``component`` by ``emit``; of an assembly, that of its parts and its text."""
    if not isinstance(component, Assembly):
        return emit(component)
    modules: dict[str, EmittedModule] = {}
    for part in component.parts():
        modules |= emit(part).modules
    for name, text in component.models().items():
        modules[name] = EmittedModule(name, Model, verilog=text)
    kind, params = type(component), component.params
    modules[component.name] = EmittedModule(component.name, kind, params, verilog=component.text())
    return Emission(modules)


def is_emitted(module: EmittedModule) -> bool:
    """Whether ``module`` comes of a component rather than of written Verilog."""
    return not issubclass(module.kind, Assembly | Model)
