"""States what a component expects of its surroundings, once, in the component itself.

The component's proof assumes it (``tests.formal.claims.granted``), and every simulation of a design
with the component asserts it (``sim.harness.expectations``). Generated Verilog does not contain it.
"""

from collections.abc import Callable
from contextvars import ContextVar

from amaranth.hdl import Module, ValueLike

from hdl.common.component import Component

Heed = Callable[[Module, Component, str, ValueLike], None]

#: function that receives the expectations of components while they are elaborated; None: nobody
HEED: ContextVar[Heed | None] = ContextVar("HEED", default=None)


def expect(m: Module, component: Component, **holds: Callable[[], ValueLike]) -> None:
    """State that the surroundings of ``component`` keep each of ``holds`` true in every cycle.

    The functions are called only if :data:`HEED` is set, so the registers that they add cost
    nothing otherwise.
    """
    heed = HEED.get()
    if heed is not None:
        for name, built in holds.items():
            heed(m, component, name, built())
