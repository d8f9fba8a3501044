"""Adds a part of a design with a reset of its own."""

from amaranth.hdl import ClockDomain, ClockSignal, DomainRenamer, Module, ResetSignal, Value

from hdl.common.component import Component


def add_with_reset(m: Module, name: str, part: Component, reset: Value) -> None:
    """Add ``part`` as submodule ``name``, whose registers ``reset`` resets, too.

    The other registers of ``m`` are not reset. The part's clock domain is also called ``name``.
    """
    domain = ClockDomain(name, local=True)
    m.domains += domain
    m.submodules[name] = DomainRenamer(name)(part)
    m.d.comb += [domain.clk.eq(ClockSignal()), domain.rst.eq(ResetSignal() | reset)]
