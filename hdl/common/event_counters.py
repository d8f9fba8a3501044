"""Counts events, and shows all counters at once."""

from collections.abc import Mapping
from enum import IntEnum
from typing import cast

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.common.component import Component
from hdl.common.params import Params, whole

MAX_CLEARED = 1000  #: most bits of counters that one gate resets


class CountersParams(Params, suffix="{name}"):
    """Names the events that are counted, and sets the width of the counters."""

    name: str  #: name of the set, unique in a design
    counters: tuple[tuple[str, int], ...]  #: names, and the width of the number that a cycle adds
    bits: int = whole(2, 64, default=48)  #: width of a counter, which wraps; 48 bits last 13 days
    clears: bool = True  #: whether there is a port ``clear``; otherwise only a reset clears them

    def __post_init__(self) -> None:
        super().__post_init__()
        names = [name for name, _ in self.counters]
        if not names or len(set(names)) < len(names):
            raise ValueError(f"counters must have names, each a different one: {', '.join(names)}")
        if not all(1 <= bits < self.bits for _, bits in self.counters):
            raise ValueError(
                f"the number that a cycle adds must have from 1 to {self.bits - 1} bits: {self}"
            )

    @property
    def events(self) -> data.StructLayout:
        """Describe the numbers that a cycle adds to the counters."""
        return data.StructLayout(dict(self.counters))

    @property
    def counts(self) -> data.StructLayout:
        """Describe the counters."""
        return data.StructLayout(dict.fromkeys(self.events.members, self.bits))

    @property
    def many(self) -> bool:
        """Return whether a gate that resets all counters would have too high a fan-out.

        Then each counter's sum is gated instead, which takes a LUT for each bit.
        """
        return self.clears and self.bits * len(self.counters) > MAX_CLEARED

    @property
    def index_bits(self) -> int:
        """Return the width of a counter's number."""
        return ceil_log2(max(2, len(self.counters)))


def widths(counted: Mapping[str, tuple[int, str]]) -> tuple[tuple[str, int], ...]:
    """Return the counters of a set of which it is also said what each counts."""
    return tuple((name, bits) for name, (bits, _) in counted.items())


def numbered(counters: CountersParams, name: str) -> type[IntEnum]:
    """Return the counters of a set with the numbers by which software selects them."""
    members = {counter.upper(): k for k, (counter, _) in enumerate(counters.counters)}
    return cast(type[IntEnum], IntEnum(name, members))


class EventCounters(Component):
    """Adds ``events``, the numbers of a cycle, to ``counts``, which wrap.

    ``clear`` sets all counters to zero and drops the events of the cycle before; events of its own
    cycle are counted. Latency: :attr:`latency` cycles from an event to its counter.
    """

    latency = 2

    def __init__(self, params: CountersParams) -> None:
        super().__init__(
            params,
            {"events": In(params.events), "counts": Out(params.counts)}
            | ({"clear": In(1)} if params.clears else {}),
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        clear = self.clear if self.params.clears else Const(0)
        for name, bits in self.params.counters:
            event = Signal(bits, name=f"{name}_event")
            counter = Signal(self.params.bits, name=name)
            m.d.sync += event.eq(self.events[name])
            if self.params.many:
                with m.If(event.any() | clear):
                    total = Mux(clear, 0, counter) + Mux(clear, 0, event)
                    m.d.sync += counter.eq(total[: len(counter)])
            else:
                with m.If(clear):
                    m.d.sync += counter.eq(0)
                with m.Elif(event.any()):
                    m.d.sync += counter.eq(counter + event)
            m.d.comb += self.counts[name].eq(counter)
        return m
