"""Assertions with names, so that a proof that fails can say what does not hold."""

# The type stubs know no assertion without a message.
# pyright: reportCallIssue=false

from amaranth.hdl import Assert, Assume, Cover, Module, Signal


def claim(m: Module, name: str, holds) -> None:
    """``holds`` is to be proven, wherever the enclosing conditions are true."""
    named = Signal(name=name)
    m.d.comb += [named.eq(holds), Assert(named)]


def reach(m: Module, name: str, happens) -> None:
    """``happens`` is to be shown possible."""
    named = Signal(name=name)
    m.d.comb += [named.eq(happens), Cover(named)]


def assume(m: Module, holds) -> None:
    """``holds`` is taken for granted."""
    m.d.comb += Assume(holds)
