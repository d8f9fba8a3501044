"""Decides which workers hear of congestion by their ACKs."""

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.switchgnn.switch.params import GnnSwitchParams


class EcnEcho(Component):
    """Says whose ACKs are marked (:func:`sim.switchgnn.golden.congestion.hears`).

    Bit k of ``echo`` is high if the queue of port k on the way in is congested (``entering``), or
    that of any port of the same job on the way out (``leaving``). ``jobs`` are those of the ports.
    Ports without an active job hear nothing of others.

    If there are links to other switches, ``mark_to`` says at which ports the next ACK is marked
    because another switch marked an ACK: once, however often ``mark_to`` says so until ``acked``,
    with which an ACK takes its content. What comes with ``acked`` is for the ACK after that.

    Throughput: every cycle. Latency: :attr:`latency`. Stalls: never.
    """

    latency = 1

    def __init__(self, params: GnnSwitchParams) -> None:
        super().__init__(
            params,
            jobs=In(data.ArrayLayout(params.port_job, params.ports)),
            entering=In(params.ports),
            leaving=In(params.ports),
            echo=Out(params.ports),
            **({"mark_to": In(params.ports), "acked": In(params.ports)} if params.links else {}),
        )

    def build(self, m: Module) -> None:
        jobs = [self.jobs[k] for k in range(self.params.ports)]
        heard = []
        for own in jobs:
            shared = (
                other.active & (other.job == own.job) & self.leaving[j]
                for j, other in enumerate(jobs)
            )
            heard.append(own.active & reduce(or_, shared))
        local = Signal(self.params.ports)
        m.d.sync += local.eq(self.entering | Cat(heard))
        m.d.comb += self.echo.eq(local)
        if self.params.links:
            passed = Signal(self.params.ports)  # marks of other switches that wait for an ACK
            active = Cat(own.active for own in jobs)
            m.d.sync += passed.eq(active & (self.mark_to | (passed & ~self.acked)))
            m.d.comb += self.echo.eq(local | passed)
