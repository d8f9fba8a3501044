"""Emits components as Verilog: each distinct pair of class and parameters once."""

import gc
import re
from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

from amaranth.hdl import ClockSignal, Fragment, Instance, ResetSignal
from amaranth.lib import wiring

from gen.base.emission.amaranth_internals import PortDirection
from gen.base.emission.hidden_names import refuse_hidden
from gen.base.emission.lean_rtlil import netlist_of, to_rtlil
from gen.base.emission.narrowing import check, strict_constants
from gen.base.emission.quick_netlists import quick_netlists
from gen.base.emission.tuple_names import named_tuples
from gen.base.emission.verilog.writing import written
from hdl.common.component import Component

#: what Verilator's -Wall may say of Verilog that users get; TOP stands for the top's name
WAIVERS = Path(__file__).with_name("lint.vlt")


@dataclass(frozen=True)
class Port:
    """Describes one port of an emitted module."""

    name: str
    direction: str  #: "input" or "output"
    bits: int


@dataclass
class EmittedModule:
    """Holds a distinct component as text, with what a parent needs to place it."""

    name: str
    kind: type[Any]  #: the class of the component
    params: Any = field(default=None, repr=False)  #: its parameters
    ports: list[Port] = field(default_factory=list, repr=False)
    domains: tuple[str, ...] = ()  #: clock domains of the component that the module has ports for
    rtlil: str = field(default="", repr=False)
    verilog: str = field(default="", repr=False)
    #: comments by line of the Verilog: which lines of Python made it
    sources: dict[int, str] = field(default_factory=dict, repr=False)
    instances: dict[str, int] = field(default_factory=dict)  #: child module -> times placed

    @classmethod
    def of(cls, component: Component) -> "EmittedModule":
        """Return the module of ``component``, without any text yet."""
        module = cls(module_name(component), type(component), component.params)
        module.component = component
        return module

    @cached_property
    def component(self) -> Component:
        """Return the component; a new one like it if another process emitted the module."""
        return self.kind(self.params)


@dataclass(frozen=True)
class Emission:
    """Holds a whole design: its modules, children before parents; the last one is the top."""

    modules: dict[str, EmittedModule]
    #: makes HTML of it for a notebook, which shows the line below if there is none
    page: Callable[[], str] | None = field(default=None, compare=False)

    def _repr_html_(self) -> str | None:
        return self.page() if self.page else None

    def __repr__(self) -> str:
        lines = self.verilog.count("\n")
        return f"<Verilog of {self.top.name}: {len(self.modules)} modules, {lines:,} lines>"

    @property
    def top(self) -> EmittedModule:
        """Return the module of the component that was emitted."""
        return next(reversed(self.modules.values()))

    @property
    def verilog(self) -> str:
        """Return the Verilog of all modules in one text."""
        return "\n".join(module.verilog for module in self.modules.values())

    @property
    def digest(self) -> str:
        """Return the SHA-256 digest of the Verilog: equal digests mean equal hardware."""
        return sha256(self.verilog.encode()).hexdigest()

    def counts(self) -> dict[str, int]:
        """Count how often each module is placed in the whole design; the top counts once."""
        counts = dict.fromkeys(self.modules, 0)
        counts[self.top.name] = 1
        for module in reversed(self.modules.values()):
            for child, times in module.instances.items():
                counts[child] += times * counts[module.name]
        return counts


class KnownModules(Protocol):
    """Holds modules that were emitted before, perhaps in other designs."""

    def find(self, component: Component) -> list[EmittedModule]:
        """Return the modules of ``component``, its own last; none if it is not known."""
        ...

    def keep(self, modules: Iterable[EmittedModule]) -> None:
        """Remember ``modules``, which are listed children before parents."""
        ...


class Emitter:
    """Elaborates each distinct component once, as Amaranth's platform, and places instances of it.

    A component that is among the ``known`` ones is not elaborated at all.
    """

    def __init__(
        self,
        progress: Callable[[str], None] | None = None,
        known: KnownModules | None = None,
    ) -> None:
        self.modules: dict[str, EmittedModule] = {}
        self.elaborated: list[EmittedModule] = []  #: those that were not known
        self._known = known
        self._progress = progress
        self._names: dict[tuple[Any, Any], str] = {}
        self._open: list[tuple[Component, dict[str, int]]] = []

    def emit(self, component: Component) -> EmittedModule:
        """Elaborate ``component``, unless its like has been, and return its module."""
        component = bare(component)
        key = (type(component), component.params)
        if key in self._names:
            return self.modules[self._names[key]]
        for module in self._known.find(component) if self._known is not None else ():
            self._add(module)
        if key in self._names:
            return self.modules[self._names[key]]
        module = EmittedModule.of(component)
        self._check_name(module)
        if self._progress is not None:
            self._progress(module.name)
        self._open.append((component, module.instances))
        with named_tuples():
            fragment = Fragment.get(component, self)
        self._open.pop()
        check(fragment, module.name)
        ports = interface(component)
        netlist = netlist_of(fragment, ports, module.name)
        module.rtlil = to_rtlil(netlist)
        module.verilog, module.sources = written(netlist, module.name, component.keeps_boundary)
        refuse_hidden(
            module.verilog, ((child, self.modules[child].verilog) for child in module.instances)
        )
        module.domains = clocked_domains(component, inputs_of(module) - set(ports))
        module.ports = [Port(n, "input", 1) for d in module.domains for n in domain_ports(d)]
        module.ports += [Port(n, d.value, len(v)) for n, (v, d) in ports.items()]
        self._add(module)
        self.elaborated.append(module)
        return module

    def _add(self, module: EmittedModule) -> None:
        """Take ``module`` into the design, unless its like is there."""
        key = (module.kind, module.params)
        if key not in self._names:
            self._check_name(module)
            self._names[key] = module.name
            self.modules[module.name] = module

    def _check_name(self, module: EmittedModule) -> None:
        """Raise ValueError if a module with other parameters has the name of this one."""
        if module.name in self.modules:
            raise ValueError(
                f"two different sets of parameters are called {module.name}:"
                f" {self.modules[module.name].params} and {module.params};"
                f" give their class a suffix that tells them apart"
            )

    def place(self, component: Component) -> Instance | None:
        """Return the instance that stands for ``component``; None while it is elaborated itself."""
        current, instances = self._open[-1]
        if component is current:
            return None
        module = self.emit(component)
        instances[module.name] = instances.get(module.name, 0) + 1
        wires = {
            ("i_" if direction is PortDirection.Input else "o_") + name: value
            for name, (value, direction) in interface(component).items()
        }
        for domain in module.domains:
            clk, rst = domain_ports(domain)
            wires[f"i_{clk}"] = ClockSignal(domain)
            wires[f"i_{rst}"] = ResetSignal(domain, allow_reset_less=True)
        return Instance(module.name, **wires)


def bare(component: Component) -> Component:
    """Return the component with bits in place of shapes, on which no text of a module depends."""
    kind: type[Any] = type(component)
    params = getattr(component.params, "bare", component.params)
    return component if params == component.params else kind(params)


def interface(component: Component) -> dict[str, tuple[Any, PortDirection]]:
    """Return a component's ports: stream ``words`` gives words_payload, _valid and _ready."""
    ports: dict[str, tuple[Any, PortDirection]] = {}
    for path, member, value in component.signature.flatten(component):
        name = "_".join(map(str, path))
        if name in ports:
            raise ValueError(f"{type(component).__name__}: two ports are called {name}")
        is_input = member.flow == wiring.In
        direction = PortDirection.Input if is_input else PortDirection.Output
        value = value.as_value() if hasattr(value, "as_value") else value
        if len(value):
            ports[name] = (value, direction)
    return ports


def domain_ports(domain: str) -> tuple[str, str]:
    """Return the names of a clock domain's ports: ``clk``, ``rst``; prefixed, unless it is sync."""
    prefix = "" if domain == "sync" else f"{domain}_"
    return f"{prefix}clk", f"{prefix}rst"


def inputs_of(module: EmittedModule) -> set[str]:
    """Return the names of all inputs in the RTLIL of a module, clocks and resets too."""
    text = module.rtlil.partition(f"module \\{module.name}\n")[2].partition("\nend\n")[0]
    return set(re.findall(r"^ *wire .*\binput \d+ +\\(\w+)$", text, re.M))


def clocked_domains(component: Component, inputs: Set[str]) -> tuple[str, ...]:
    """Return the component's domains whose clock is among ``inputs``, which lack ports of their
    own.

    A domain that is neither declared nor made inside would be left without a clock: ValueError.
    """
    declared = {name for domain in component.domains for name in domain_ports(domain)}
    if strange := sorted(inputs - declared):
        raise ValueError(
            f"{type(component).__name__}: {strange[0]} is of no clock domain that its class"
            f" declares in domains: {', '.join(component.domains)}"
        )
    return tuple(domain for domain in component.domains if domain_ports(domain)[0] in inputs)


def module_name(component: Component) -> str:
    """Name the module: ``GatedAdderTree`` with suffix ``64x32`` is ``gated_adder_tree_64x32``."""
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type(component).__name__).lower()
    suffix = getattr(component.params, "suffix", "")
    return f"{name}_{suffix}" if suffix else name


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Let Python collect garbage rarely: it takes a third of a large design's emission otherwise.

    The price is memory: emitting a SNIC of one unit takes 210 MB instead of 125.
    """
    stored = gc.get_threshold()
    gc.set_threshold(1_000_000, *stored[1:])
    try:
        yield
    finally:
        gc.set_threshold(*stored)


def emit(
    component: Component,
    progress: Callable[[str], None] | None = None,
    known: KnownModules | None = None,
) -> Emission:
    """Emit ``component`` and everything below it; the same parameters give the same bytes.

    ``progress`` hears the name of each distinct module before it is elaborated. What is ``known``
    is neither elaborated nor translated, and what is not is known afterwards.
    """
    emitter = Emitter(progress, known)
    with strict_constants(), seldom_collected(), quick_netlists():
        emitter.emit(component)
    if known is not None:
        known.keep(emitter.elaborated)
    return Emission(emitter.modules)
