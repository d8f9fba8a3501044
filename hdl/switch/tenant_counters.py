"""Counts what happens to each tenant of a switch."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.counter_banks import MAX_PARTS, CounterBanks
from hdl.common.event_counters import CountersParams, widths
from hdl.switch.params import PacketSwitchParams

BYTE_BITS = 14  #: width of the number of a packet's bytes
#: Lists every counter, with the width of the number that a cycle adds, and what it counts.
TENANT_COUNTED = {
    "grants": (1, "grants"),
    "refusals": (1, "ACQUIREs refused, as others hold what the job wants"),
    "granted_cycles": (1, "cycles in which the job holds the switch, or drains"),
    "busy_cycles": (1, "cycles in which a use of its slots goes on"),
    "operations": (1, "uses of slots that all have acknowledged"),
    "bytes": (BYTE_BITS, "bytes of frames that name the job"),
}
TENANT_COUNTERS = CountersParams(name="tenant", counters=widths(TENANT_COUNTED))


class TenantCounters(Component):
    """Counts what happens to each tenant; ``value`` is counter ``select`` of job ``job``.

    Every input but ``longer`` has a bit for each job: it is ``active``, has ``unfinished`` uses,
    has ``ended`` one, was ``refused``, or is the job ``of`` a packet; ``longer`` says that this
    packet has further bytes. Latency: that of :class:`hdl.common.counter_banks.CounterBanks`.
    """

    latency = CounterBanks.latency

    def __init__(self, params: PacketSwitchParams) -> None:
        super().__init__(
            params,
            clear=In(1),
            active=In(params.jobs),
            unfinished=In(params.jobs),
            refused=In(params.jobs),
            ended=In(params.jobs),
            of=In(params.jobs),
            **({"longer": In(1)} if params.parents else {}),
            job=In(range(MAX_PARTS)),
            select=In(TENANT_COUNTERS.index_bits),
            value=Out(TENANT_COUNTERS.bits),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.banks = banks = CounterBanks.sized(counters=TENANT_COUNTERS, count=params.jobs)
        was_active = Signal(params.jobs)
        frames = params.frames
        size = frames.max_bytes
        if params.parents:
            size = Mux(self.longer, frames.longest_bytes, size)
        for k, events in enumerate(banks.events):
            active = self.active[k]
            m.d.sync += was_active[k].eq(active)
            m.d.comb += [
                events.grants.eq(active & ~was_active[k]),
                events.refusals.eq(self.refused[k]),
                events.granted_cycles.eq(active),
                events.busy_cycles.eq(self.unfinished[k]),
                events.operations.eq(self.ended[k]),
                events.bytes.eq(Mux(self.of[k], size, 0)),
            ]
        m.d.comb += [
            banks.clear.eq(self.clear),
            banks.part.eq(self.job),
            banks.select.eq(self.select),
            self.value.eq(banks.value),
        ]
