"""Stores the sums of a bank's aggregators, to which a payload is added every cycle."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.common.memory import DualPortMemory
from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.sum_adders import SumAdders, SumsFrom


class SumMemory(Component):
    """Adds ``payload`` to the sums of the ``address`` of :attr:`lead` cycles ago, lane by lane.

    With ``write`` the aggregator's sums become the payload, and what they were is added to it,
    modulo 2^32, if ``keep`` is high. Without ``write`` nothing changes. ``stored`` are the
    aggregator's sums as they were before, straight from the memory; they mean nothing with
    ``recent``, which says that one of the last two cycles wrote them.

    Throughput: an addition a cycle, to the same aggregator over and over included: a sum that is
    not in the memory yet comes from one of two registers.
    """

    lead = 1

    def __init__(self, params: GnnSwitchParams) -> None:
        super().__init__(
            params,
            {
                "address": In(params.slot_bits),
                "payload": In(params.sums),
                "keep": In(1),
                "write": In(1),
                "stored": Out(params.sums),
                "recent": Out(1),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        m.submodules.entries = memory = DualPortMemory(self.params.sums_memory)
        m.submodules.adders = adders = SumAdders(self.params)
        current = delay(m, self.address, self.lead, "current")
        last = delay(m, current, 1, "last")
        written = delay(m, self.write, 1, "written", reset_less=False)
        newest = delay(m, adders.after, 1, "newest")
        older = delay(m, newest, 1, "older")
        latest = Signal(SumsFrom)  # of the aggregator whose turn it is
        of_newest = (self.address == current) & self.write
        of_older = (self.address == last) & written
        m.d.sync += latest.eq(
            Mux(of_newest, SumsFrom.NEWEST, Mux(of_older, SumsFrom.OLDER, SumsFrom.MEMORY))
        )
        m.d.comb += [
            adders.source.eq(Mux(self.keep, latest, SumsFrom.NOWHERE)),
            memory.read_address.eq(self.address),
            memory.write.eq(written),
            memory.write_address.eq(last),
            memory.write_data.eq(newest),
            self.stored.eq(memory.read_data),
            self.recent.eq(latest != SumsFrom.MEMORY),
            adders.newest.eq(newest),
            adders.older.eq(older),
            adders.stored.eq(memory.read_data),
            adders.payload.eq(self.payload),
        ]
        return m
