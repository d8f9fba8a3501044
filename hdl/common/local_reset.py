"""Adds a part of a design with a reset of its own."""

from amaranth.hdl import ClockDomain, ClockSignal, DomainRenamer, Module, ResetSignal, Value

from hdl.common.component import Component
from hdl.common.wire_pipeline import WirePipeline

#: Cycles of reset that a component with blocks needs at least. While it is only one long, a block
#: still shows what it held before when the others have begun.
BLOCK_RESET_CYCLES = 2


def add_with_reset(m: Module, name: str, part: Component, reset: Value) -> None:
    """Add ``part`` as submodule ``name``, whose registers ``reset`` resets, too.

    The other registers of ``m`` are not reset. The part's clock domain is also called ``name``.
    """
    add_in_domain(m, name, part, ResetSignal() | reset)


def add_block(m: Module, name: str, part: Component) -> None:
    """Add ``part`` as submodule ``name``, whose reset passes a register of its own.

    So one wire need not reset all registers of a design. The register, ``<name>_reset``, is not
    merged with others. The part is reset a cycle later than ``m``, and must not be sent anything in
    the first cycle after its reset.
    """
    m.submodules[f"{name}_reset"] = path = WirePipeline.sized(shape=1, stages=1)
    m.d.comb += path.i.eq(ResetSignal())
    add_in_domain(m, name, part, path.o)


def add_in_domain(m: Module, name: str, part: Component, reset: Value) -> None:
    """Add ``part`` as submodule ``name``, in a clock domain of this name with this reset."""
    domain = ClockDomain(name, local=True)
    m.domains += domain
    m.submodules[name] = DomainRenamer(name)(part)
    m.d.comb += [domain.clk.eq(ClockSignal()), domain.rst.eq(reset)]
