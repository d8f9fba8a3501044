"""Decides which workers hear of congestion by their ACKs."""

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Module
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.switchgnn.switch.params import GnnSwitchParams


class EcnEcho(Component):
    """Says whose ACKs are marked (:func:`sim.switchgnn.golden.congestion.hears`).

    Bit k of ``echo`` is high if the queue of port k on the way in is congested (``entering``), or
    that of any port of the same job on the way out (``leaving``). ``jobs`` are those of the ports.
    Ports without an active job hear nothing of others.

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
        m.d.sync += self.echo.eq(self.entering | Cat(heard))
