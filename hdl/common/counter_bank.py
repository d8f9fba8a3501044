"""Counters of events, read one at a time."""

from dataclasses import dataclass

from amaranth.hdl import Array, Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.common.component import Component

GROUP = 8  #: counters that a multiplexer in front of a register chooses from


@dataclass(frozen=True, kw_only=True)
class CounterBankParams:
    """Says what is counted."""

    name: str  #: name of the bank: a design has one of a name
    counters: tuple[tuple[str, int], ...]  #: names, and the bits of what a cycle can add
    bits: int = 48  #: width of a counter, which wraps; 48 last 13 days

    def __post_init__(self) -> None:
        names = [name for name, _ in self.counters]
        if not names or len(set(names)) < len(names):
            raise ValueError(f"counters have names, each its own: {', '.join(names)}")
        if not all(1 <= bits < self.bits <= 64 for _, bits in self.counters):
            raise ValueError(f"a cycle adds at least one bit, less than {self.bits} bits: {self}")

    @property
    def suffix(self) -> str:
        """Tells the name."""
        return self.name

    @property
    def events(self) -> data.StructLayout:
        """Describe what a cycle adds to each counter."""
        return data.StructLayout(dict(self.counters))

    @property
    def index_bits(self) -> int:
        """Return the width of a counter's place in the order of their names."""
        return ceil_log2(max(2, len(self.counters)))


class CounterBank(Component):
    """Adds ``events`` up; ``value`` is the counter number ``select``, 0 behind the last.

    ``clear`` sets all to zero, with the events of the cycle before; those of its own cycle count
    from zero. Latency: :attr:`event_latency`
    cycles from an event to its counter, :attr:`latency` from that, or ``select``, to ``value``.
    """

    event_latency = 2
    latency = 2

    def __init__(self, params: CounterBankParams) -> None:
        super().__init__(
            params,
            {
                "events": In(params.events),
                "clear": In(1),
                "select": In(params.index_bits),
                "value": Out(params.bits),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        counters = []
        for name, bits in self.params.counters:
            event = Signal(bits, name=f"{name}_event")
            counter = Signal(self.params.bits, name=name)
            m.d.sync += event.eq(self.events[name])
            with m.If(self.clear):
                m.d.sync += counter.eq(0)
            with m.Elif(event.any()):
                m.d.sync += counter.eq(counter + event)
            counters.append(counter)
        group_bits = ceil_log2(GROUP)
        chosen = []
        for k in range(0, len(counters), GROUP):
            output = Signal(self.params.bits, name=f"group_{k // GROUP}", reset_less=True)
            group = counters[k : k + GROUP]
            group += [0] * (GROUP - len(group))
            m.d.sync += output.eq(Array(group)[self.select[:group_bits]])
            chosen.append(output)
        of_group = Signal(max(1, self.params.index_bits - group_bits), reset_less=True)
        behind = Signal(reset_less=True)
        m.d.sync += [
            of_group.eq(self.select[group_bits:]),
            behind.eq(self.select >= len(counters)),
            self.value.eq(Mux(behind, 0, Array(chosen)[of_group])),
        ]
        return m
