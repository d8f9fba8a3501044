"""The counters of all RIG units."""

from amaranth.hdl import Array, Const, Module
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.counter_bank import CounterBank
from hdl.netsparse.rig.unit import UNIT_EVENTS
from hdl.netsparse.routing import UnitsParams
from hdl.netsparse.snic_counters import UNIT_COUNTERS


class UnitCounters(Component):
    """Counts the events of each unit; ``value`` is counter ``select`` of ``unit``.

    :data:`hdl.netsparse.snic_counters.UNIT_COUNTERS` has names and order. Latency: one cycle more
    than :class:`hdl.common.counter_bank.CounterBank`. Units that are not there give 0.
    """

    latency = CounterBank.latency + 1

    def __init__(self, params: UnitsParams) -> None:
        super().__init__(
            params,
            {
                "events": In(UNIT_EVENTS).array(params.units),
                "clear": In(1),
                "unit": In(5),
                "select": In(UNIT_COUNTERS.index_bits),
                "value": Out(UNIT_COUNTERS.bits),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        values = []
        for k, events in enumerate(self.events):
            m.submodules[f"bank_{k}"] = bank = CounterBank(UNIT_COUNTERS)
            m.d.comb += [
                bank.events.eq(events),
                bank.clear.eq(self.clear),
                bank.select.eq(self.select),
            ]
            values.append(bank.value)
        values += [Const(0, UNIT_COUNTERS.bits)] * (32 - len(values))
        m.d.sync += self.value.eq(Array(values)[self.unit])
        return m
