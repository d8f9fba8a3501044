"""Stores the sums of a bank's aggregators, to which a payload is added every cycle."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.common.memory import DualPortMemory
from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.sum_adders import SumAdders, SumsFrom


class SumMemory(Component):
    """Adds a ``payload`` to the sums of an aggregator, lane by lane.

    :attr:`lead` cycles behind its ``address`` it is decided what becomes of the aggregator, and
    :attr:`lag` cycles behind that comes the payload. With ``write`` the aggregator's sums become
    the payload, and what they were is added to it, modulo 2^32, if ``keep`` is high. Without
    ``write`` nothing changes. With the payload come ``stored``, the aggregator's sums as they were
    before, straight from the memory; they mean nothing if ``recent`` was high with the decision:
    one of the last two cycles wrote them.

    Throughput: an addition a cycle, to the same aggregator over and over included: a sum that is
    not in the memory yet comes from one of two registers. What is added to is chosen by a register,
    as every bit of every sum looks at it.
    """

    lead = 1
    lag = 1

    def __init__(self, params: GnnSwitchParams) -> None:
        super().__init__(
            params,
            {
                **{name: In(field.shape) for name, field in params.sum_command},
                "payload": In(params.bank_sums),
                "stored": Out(params.bank_sums),
                "recent": Out(1),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        m.submodules.entries = memory = DualPortMemory(self.params.sums_memory)
        m.submodules.adders = adders = SumAdders(self.params)
        decided = delay(m, self.address, self.lead, "decided")
        added = delay(m, decided, self.lag, "added")
        adds = delay(m, self.write, self.lag, "adds", reset_less=False)
        newest = delay(m, adders.after, 1, "newest")
        older = delay(m, newest, 1, "older")
        latest = Signal(SumsFrom)  # of the aggregator about which it is decided
        source = Signal(SumsFrom)  # of the one whose sums are added to
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
        ]
        return m
