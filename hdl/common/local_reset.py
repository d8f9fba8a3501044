"""Resets a part of a design alone."""

from amaranth.hdl import ClockDomain, ClockSignal, DomainRenamer, Module, ResetSignal, Value

from hdl.common.component import Component


def add_with_reset(m: Module, name: str, part: Component, reset: Value) -> None:
    """Add ``part`` as submodule ``name``; a cycle with ``reset`` is one of reset for its registers.

    The other registers of ``m`` go on. ``name`` is that of the part's clock domain, too.
    """
    domain = ClockDomain(name, local=True)
    m.domains += domain
    m.submodules[name] = DomainRenamer(name)(part)
    m.d.comb += [domain.clk.eq(ClockSignal()), domain.rst.eq(ResetSignal() | reset)]
