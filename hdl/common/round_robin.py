"""Arbitrates between requesters in round-robin order."""

from itertools import combinations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.common.arithmetic import index_of
from hdl.common.component import Component
from hdl.common.params import Params, whole

FEW = 8  #: most requesters for an arbiter with a register for each pair


class RoundRobinParams(Params, suffix="{count}"):
    """Sets the number of requesters."""

    count: int = whole(2)  #: number of requesters


def lowest(bits: Value) -> Value:
    """Return only the lowest bit that is set."""
    return Cat(bits[k] & ~bits[:k].any() for k in range(len(bits)))


def next_above(requesting: Value, last: Value) -> Value:
    """Return the next bit of ``requesting`` above the one-hot ``last``, cyclically.

    A subtraction on twice the bits finds it: the borrow runs from above ``last`` to the next set
    bit. It is for callers that keep ``last`` themselves, and for many requesters, for which
    :class:`RoundRobin` has too many logic levels.
    """
    twice = Cat(requesting, requesting)
    result = twice & ~(twice - last.rotate_left(1))[: len(twice)]
    return result[: len(requesting)] | result[len(requesting) :]


def first_of(ahead: Value, requesting: Value) -> Value:
    """Return the lowest bit of ``ahead``, which has priority, or of ``requesting``."""
    return Mux(ahead.any(), lowest(ahead), lowest(requesting))


def choose_in_turn(m: Module, requesting: Value, take: Value) -> Signal:
    """Return the one-hot grant among ``requesting``, with the same result as :class:`RoundRobin`.

    A register for each pair says which of the two has priority, which takes fewer logic levels than
    a cyclic search. It is for at most :data:`FEW` requesters: eight have 28 pairs.
    """
    count = len(requesting)
    grant = Signal(count)
    first: list[list[Value]] = [[] for _ in range(count)]  # requesters with priority over each one
    turns = []
    for lower, upper in combinations(range(count), 2):
        # The last grant was in [lower, upper).
        upper_first = Signal(name=f"turn_{upper}_before_{lower}")
        goes_first = upper_first.eq(grant[lower:upper].any())
        turns.append(goes_first)
        first[lower].append(requesting[upper] & upper_first)
        first[upper].append(requesting[lower] & ~upper_first)
    with m.If(take & requesting.any()):
        m.d.sync += turns
    for k, others in enumerate(first):
        overtaken = Signal(len(others), name=f"overtaken_{k}")
        m.d.comb += [overtaken.eq(Cat(others)), grant[k].eq(requesting[k] & ~overtaken.any())]
    return grant


def pick_in_turn(m: Module, requesting: Value, may: Value) -> Value:
    """Return the grant of :func:`choose_in_turn` in cycles with ``may``, and 0 in others."""
    return choose_in_turn(m, requesting, may) & may.replicate(len(requesting))


class RoundRobin(Component):
    """Grants one of ``requesting``: the next bit above the last one that was taken, cyclically.

    ``grant`` is one-hot, or 0 if no bit of ``requesting`` is set; ``index`` is the number of its
    bit. The choice is made anew in every cycle, and counts as taken in cycles with ``take``.
    Latency: none.
    """

    latency = 0

    def __init__(self, params: RoundRobinParams) -> None:
        super().__init__(
            params,
            requesting=In(params.count),
            take=In(1),
            grant=Out(params.count),
            index=Out(ceil_log2(params.count)),
        )

    def build(self, m: Module) -> None:
        count = self.params.count
        above = Signal(count)  # requesters above the last grant, which have priority
        ahead = Signal(count)
        m.d.comb += [
            ahead.eq(self.requesting & above),
            self.grant.eq(first_of(ahead, self.requesting)),
            self.index.eq(index_of(self.grant)),
        ]
        with m.If(self.take & self.requesting.any()):
            m.d.sync += above.eq(Cat(self.grant[:k].any() for k in range(count)))
