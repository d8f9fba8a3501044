"""States what a component expects of its surroundings, once, in the component itself.

Its proof assumes it (``tests.formal.claims.granted``), and every simulation of whatever the
component stands in asserts it (``sim.harness.expectations``). What is generated has nothing of it.
"""

from collections.abc import Callable
from contextvars import ContextVar

from amaranth.hdl import Module, ValueLike

from hdl.common.component import Component

Heed = Callable[[Module, Component, str, ValueLike], None]

#: What is done with expectations in what is elaborated meanwhile; nothing if None.
HEED: ContextVar[Heed | None] = ContextVar("HEED", default=None)


def expect(m: Module, component: Component, **holds: Callable[[], ValueLike]) -> None:
    """State that in every cycle each of ``holds`` is true of what surrounds ``component``.

    They are called only if somebody heeds them, so the registers that they add cost nothing.
    """
    heed = HEED.get()
    if heed is not None:
        for name, made in holds.items():
            heed(m, component, name, made())
