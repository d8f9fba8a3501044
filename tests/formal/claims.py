"""Gives assertions names, so that a proof that fails can say what does not hold."""

# The type stubs know no assertion without a message.
# pyright: reportCallIssue=false

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeVar

from amaranth.hdl import Assert, Assume, Cover, Module, Signal, Value

from hdl.common.component import Component
from hdl.common.expectations import HEED

C = TypeVar("C", bound=Component)


@dataclass
class Watch:
    """Keeps which claims are asserted, and which have been made."""

    only: str | None = None  #: the one claim that is asserted; all if None
    claims: set[str] = field(default_factory=set)  #: names that :func:`claim` was given
    granted: list[Component] = field(default_factory=list)  #: what :func:`granted` was given


WATCH: ContextVar[Watch | None] = ContextVar("WATCH", default=None)


@contextmanager
def watching(only: str | None = None) -> Iterator[Watch]:
    """Assert the claim ``only`` alone in what is elaborated meanwhile, and collect all names."""
    watch = Watch(only)
    tokens = WATCH.set(watch), HEED.set(heed)
    try:
        yield watch
    finally:
        WATCH.reset(tokens[0])
        HEED.reset(tokens[1])


def heed(m: Module, component: Component, name: str, holds) -> None:
    """Assume what the ``granted`` component expects; show it of one that stands in another."""
    watch = WATCH.get()
    if watch is not None and any(component is item for item in watch.granted):
        assume(m, holds)
    else:
        check(m, f"expects_{name}", holds)


def granted(component: C) -> C:
    """Return ``component``, to which the proof grants what it expects of its surroundings.

    Simulations of what it stands in assert the same: ``hdl/common/expectations.py``.
    """
    watch = WATCH.get()
    if watch is not None:
        watch.granted.append(component)
    return component


def claim(m: Module, name: str, holds) -> None:
    """Claim that the hardware makes ``holds`` true wherever the enclosing conditions are.

    A test breaks the RTL so that this claim, alone, finds it.
    """
    watch = WATCH.get()
    if watch is not None:
        watch.claims.add(name)
    check(m, name, holds)


def check(m: Module, name: str, holds) -> None:
    """Claim that ``holds`` is true inside the hardware; the claims' induction rests on it."""
    named = Signal(name=name)
    m.d.comb += named.eq(Value.cast(holds) & 1)  # a gate, so that it is no other name of a port
    watch = WATCH.get()
    if watch is None or watch.only in (None, name):
        m.d.comb += Assert(named)


def reach(m: Module, name: str, happens) -> None:
    """Ask for a proof that ``happens`` is possible."""
    named = Signal(name=name)
    m.d.comb += [named.eq(Value.cast(happens) & 1), Cover(named)]


def assume(m: Module, holds) -> None:
    """Take ``holds`` for granted."""
    m.d.comb += Assume(holds)
