"""Stores the sums of a bank's aggregators, and adds a payload to one of them every cycle."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.common.memory import DualPortMemory
from hdl.switchgnn.switch.banks.sum_adders import SumAdders, SumsFrom
from hdl.switchgnn.switch.params import GnnSwitchParams


class SumMemory(Component):
    """Adds a ``payload`` to the sums of an aggregator, lane by lane.

    The decision about an aggregator comes :attr:`lead` cycles after its ``address``, and the
    payload comes :attr:`lag` cycles after the decision. With ``write`` the payload replaces the
    aggregator's sums or, if ``keep`` is high, is added to them, modulo 2^32; with ``maximum``, if
    there is one, the larger of both stays. Without ``write`` nothing changes. ``stored`` has the
    aggregator's previous sums in the cycle of the payload, directly from the memory; they are
    undefined if ``recent`` was high with the decision, because one of the last two cycles wrote
    them.

    Throughput: an addition a cycle, even to the same aggregator in a row: a sum that is not in the
    memory yet is forwarded from one of two registers. The select of the multiplexer is a register,
    because it has a load in every bit of every sum.
    """

    lead = 1
    lag = 1

    def __init__(self, params: GnnSwitchParams) -> None:
        super().__init__(
            params,
            **{name: In(field.shape) for name, field in params.sum_command},
            payload=In(params.bank_sums),
            stored=Out(params.bank_sums),
            recent=Out(1),
        )

    def build(self, m: Module) -> None:
        m.submodules.entries = memory = DualPortMemory(self.params.sums_memory)
        m.submodules.adders = adders = SumAdders(self.params)
        decided = delay(m, self.address, self.lead, "decided")
        added = delay(m, decided, self.lag, "added")
        adds = delay(m, self.write, self.lag, "adds", reset_less=False)
        newest = delay(m, adders.after, 1, "newest")
        older = delay(m, newest, 1, "older")
        latest = Signal(SumsFrom)  # place of the sums of the aggregator in the decision
        source = Signal(SumsFrom)  # place of the sums that are added to
        of_newest = (self.address == decided) & self.write
        of_older = (self.address == added) & adds
        m.d.sync += [
            latest.eq(
                Mux(of_newest, SumsFrom.NEWEST, Mux(of_older, SumsFrom.OLDER, SumsFrom.MEMORY))
            ),
            source.eq(Mux(self.keep, latest, SumsFrom.NOWHERE)),
        ]
        m.d.comb += [
            adders.source.eq(source),
            memory.read_address.eq(decided),
            memory.write.eq(delay(m, adds, 1, "written", reset_less=False)),
            memory.write_address.eq(delay(m, added, 1, "last")),
            memory.write_data.eq(newest),
            self.stored.eq(memory.read_data),
            self.recent.eq(latest != SumsFrom.MEMORY),
            adders.newest.eq(newest),
            adders.older.eq(older),
            adders.stored.eq(memory.read_data),
            adders.payload.eq(self.payload),
            *(
                getattr(adders, name).eq(delay(m, getattr(self, name), self.lag, name))
                for name in self.params.maximum
            ),
        ]
