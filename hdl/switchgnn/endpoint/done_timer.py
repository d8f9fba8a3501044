"""Reports to the switch that the worker has all of the oldest open turn, until the turn ends."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.switchgnn.endpoint.params import EndpointParams
from hdl.switchgnn.protocol import Kind


class DoneTimer(Component):
    """Emits a job of DONE(``turn``) when ``complete`` is high, and again every ``timeout`` cycles.

    ``over`` ends the repetition: from the next cycle on ``turn`` is another one. ``said`` is high
    when a job of the turn was taken. ``complete`` stays high until ``over``.

    Latency: :attr:`latency` from ``complete`` to the job. Stalls: holds; a job that waits when its
    turn ends still leaves, and the switch answers it with an ADVANCE that has no effect.
    """

    latency = 2

    def __init__(self, params: EndpointParams) -> None:
        super().__init__(
            params,
            turn=In(32),
            complete=In(1),
            over=In(1),
            timeout=In(32),
            jobs=Out(stream.Signature(params.job)),
            said=Out(1),
        )

    def build(self, m: Module) -> None:
        job = self.jobs.payload
        turn = Signal(32, reset_less=True)
        timer = Signal(32, reset_less=True)
        complete = Signal()
        due = Signal()
        taken = self.jobs.valid & self.jobs.ready
        m.d.comb += [
            due.eq(complete & (~self.said | (timer >= self.timeout))),
            job.as_value().eq(0),
            job.kind.eq(Kind.DONE),
            job.turn.eq(turn),
        ]
        m.d.sync += [complete.eq(self.complete & ~self.over), timer.eq(timer + 1)]
        with m.If(~self.jobs.valid | self.jobs.ready):
            m.d.sync += [self.jobs.valid.eq(due & ~self.over & ~taken), turn.eq(self.turn)]
        with m.If(taken):
            m.d.sync += [timer.eq(0), self.said.eq(turn == self.turn)]
        with m.If(self.over):
            m.d.sync += self.said.eq(0)
