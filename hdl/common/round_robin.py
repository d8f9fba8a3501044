"""Chooses in turn among those who ask: a round-robin arbiter."""

from dataclasses import dataclass
from itertools import combinations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.common.arithmetic import index_of
from hdl.common.component import Component

FEW = 8  #: most who ask of whom each two may have a register that says whose turn is first


@dataclass(frozen=True, kw_only=True)
class RoundRobinParams:
    """Sets how many may ask."""

    count: int  #: number of those who ask, at least 2

    def __post_init__(self) -> None:
        if self.count < 2:
            raise ValueError(f"count must be at least 2: {self.count}")

    @property
    def suffix(self) -> str:
        """Return the end of the module's name, which tells how many ask."""
        return str(self.count)


def lowest(bits: Value) -> Value:
    """Return the lowest bit that is set, alone."""
    return Cat(bits[k] & ~bits[:k].any() for k in range(len(bits)))


def next_above(asking: Value, last: Value) -> Value:
    """Return the bit of ``asking`` next above the only one of ``last``, around the end.

    A carry chain twice as long finds it: what is taken away above ``last`` borrows up to there.
    For who keeps ``last`` himself, and for many: :class:`RoundRobin` gets deep.
    """
    twice = Cat(asking, asking)
    found = twice & ~(twice - last.rotate_left(1))[: len(twice)]
    return found[: len(asking)] | found[len(asking) :]


def first_of(ahead: Value, asking: Value) -> Value:
    """Return the lowest bit of ``ahead``, those of ``asking`` whose turn is first, or of all."""
    return Mux(ahead.any(), lowest(ahead), lowest(asking))


def choose_in_turn(m: Module, asking: Value, take: Value) -> Signal:
    """Return the bit of ``asking`` whose turn it is, as :class:`RoundRobin` does.

    A register for each pair says which of the two comes first, which takes fewer levels than a
    look around the end. For a few (:data:`FEW`): eight have 28 pairs.
    """
    count = len(asking)
    grant = Signal(count)
    first: list[list[Value]] = [[] for _ in range(count)]  # those who go before each
    for lower, upper in combinations(range(count), 2):
        upper_first = Signal(name=f"{upper}_before_{lower}")  # the last one was between them
        with m.If(take & asking.any()):
            m.d.sync += upper_first.eq(grant[lower:upper].any())
        first[lower].append(asking[upper] & upper_first)
        first[upper].append(asking[lower] & ~upper_first)
    m.d.comb += grant.eq(Cat(asking[k] & ~Cat(first[k]).any() for k in range(count)))
    return grant


def pick_in_turn(m: Module, asking: Value, may: Value) -> Value:
    """Return what :func:`choose_in_turn` does in cycles with ``may``, and none in others."""
    return choose_in_turn(m, asking, may) & may.replicate(len(asking))


class RoundRobin(Component):
    """``grant`` is one of the bits of ``asking``: the next one above the last that was taken.

    Behind the highest comes the lowest again; none asking, none is granted. ``index`` is the
    number of the bit. A choice is made anew every cycle and is final in those with ``take``.
    Latency: none.
    """

    latency = 0

    def __init__(self, params: RoundRobinParams) -> None:
        super().__init__(
            params,
            {
                "asking": In(params.count),
                "take": In(1),
                "grant": Out(params.count),
                "index": Out(ceil_log2(params.count)),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        count = self.params.count
        above = Signal(count)  # those whose turn comes before it is the lowest's
        ahead = Signal(count)
        m.d.comb += [
            ahead.eq(self.asking & above),
            self.grant.eq(first_of(ahead, self.asking)),
            self.index.eq(index_of(self.grant)),
        ]
        with m.If(self.take & self.asking.any()):
            m.d.sync += above.eq(Cat(self.grant[:k].any() for k in range(count)))
        return m
