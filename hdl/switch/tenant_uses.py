"""Tracks which uses of slots each tenant has under way."""

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.switch.params import PacketSwitchParams


class TenantUses(Component):
    """Counts each job's uses of slots that have begun and not ended, from ``progress``.

    Every other port has a bit for each job. A job is ``unfinished`` if it is ``active`` and has
    such uses. A job that is ``draining`` is ``drained`` when it has no such uses, at the earliest
    ``params.settling`` cycles after it began to drain. Latency: one cycle.
    """

    def __init__(self, params: PacketSwitchParams) -> None:
        super().__init__(
            params,
            active=In(params.jobs),
            draining=In(params.jobs),
            progress=In(params.progress),
            unfinished=Out(params.jobs),
            drained=Out(params.jobs),
        )

    def build(self, m: Module) -> None:
        for k in range(self.params.jobs):
            own = self.progress.job == k
            uses = Signal(self.params.slot_bits + 1, name=f"uses_{k}")
            settling = Signal(range(self.params.settling + 1), name=f"settling_{k}")
            with m.If(~self.active[k]):
                m.d.sync += uses.eq(0)
            with m.Elif(own & self.progress.began & ~self.progress.ended):
                m.d.sync += uses.eq(uses + 1)
            with m.Elif(own & self.progress.ended & ~self.progress.began):
                m.d.sync += uses.eq(uses - 1)
            with m.If(~self.draining[k]):
                m.d.sync += settling.eq(self.params.settling)
            with m.Elif(settling != 0):
                m.d.sync += settling.eq(settling - 1)
            m.d.comb += [
                self.unfinished[k].eq(self.active[k] & (uses != 0)),
                self.drained[k].eq(self.draining[k] & (settling == 0) & ~self.unfinished[k]),
            ]
