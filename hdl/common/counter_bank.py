"""Counts events, and shows one counter at a time."""

from amaranth.hdl import Array, Module, Mux, Signal
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.common.component import Component
from hdl.common.event_counters import CountersParams, EventCounters

GROUP = 8  #: inputs of each multiplexer in front of a register


class CounterBank(Component):
    """Counts ``events``; ``value`` is the counter number ``select``, 0 if there is no such counter.

    ``clear`` is that of :class:`hdl.common.event_counters.EventCounters`. Latency:
    :attr:`event_latency` cycles from an event to its counter, :attr:`latency` from that, or
    ``select``, to ``value``.
    """

    event_latency = EventCounters.latency
    latency = 2

    def __init__(self, params: CountersParams) -> None:
        super().__init__(
            params,
            events=In(params.events),
            clear=In(1),
            select=In(params.index_bits),
            value=Out(params.bits),
        )

    def build(self, m: Module) -> None:
        m.submodules.counters = of_all = EventCounters(self.params)
        m.d.comb += [of_all.events.eq(self.events), of_all.clear.eq(self.clear)]
        counters = [of_all.counts[name] for name, _ in self.params.counters]
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
