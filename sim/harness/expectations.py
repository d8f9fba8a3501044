"""Asserts in simulations what components expect of their surroundings.

Verilator (5.038 and later) heeds assertions unless told otherwise; one that fails prints its text
and ends the simulation.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from amaranth.hdl import Assert, Module, ResetSignal, Signal, ValueLike

from hdl.common.component import Component
from hdl.common.expectations import HEED

EXPECTS = "expects_"  #: how the names of signals begin that say whether an expectation holds


def asserted(m: Module, component: Component, name: str, holds: ValueLike) -> None:
    """Assert that ``holds`` at every clock edge from the first reset on."""
    stored = Signal(name=f"{EXPECTS}{name}")
    begun = Signal(name=f"began_{name}", reset_less=True)
    m.d.comb += stored.eq(holds)
    with m.If(ResetSignal()):
        m.d.sync += begun.eq(1)
    with m.Elif(begun):
        m.d.sync += Assert(stored, f"{type(component).__name__} expects {name}\n")


@contextmanager
def asserting() -> Iterator[None]:
    """Let components that are elaborated in the block assert what they expect."""
    token = HEED.set(asserted)
    try:
        yield
    finally:
        HEED.reset(token)
