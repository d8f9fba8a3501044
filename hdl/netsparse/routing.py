"""Routes PRs that arrive at a SNIC: reads to a free server unit, responses by their tid."""

from amaranth.hdl import Cat, Module
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.crossbar import add_choice
from hdl.common.params import Params, whole
from hdl.netsparse.limits import MAX_UNITS
from hdl.netsparse.protocol import READ_PR, RESPONSE_BEAT


class UnitsParams(Params, suffix="{units}"):
    """Sets how many units there are."""

    units: int = whole(1, MAX_UNITS)  #: number of units


class ReadDispatch(Component):
    """Gives each read to one of the ``servers`` that are ready, round robin (NetSparse, figure 4).

    Latency: none. Throughput: a read a cycle. Stalls: while no server unit can take a read. This is
    the only place where a ``valid`` depends on a ``ready``: only units that are ready are chosen.
    """

    latency = 0

    def __init__(self, params: UnitsParams) -> None:
        super().__init__(
            params,
            reads=In(stream.Signature(READ_PR)),
            servers=In(params.units),
            o=Out(stream.Signature(READ_PR)).array(params.units),
        )

    def build(self, m: Module) -> None:
        requesting = Cat(o.ready & self.servers[k] for k, o in enumerate(self.o))
        turn = add_choice(m, "turns", requesting, self.reads.valid)
        for k, o in enumerate(self.o):
            m.d.comb += [
                o.payload.eq(self.reads.payload),
                o.valid.eq(self.reads.valid & turn[k]),
            ]
        m.d.comb += self.reads.ready.eq(requesting.any())


class ResponseRoute(Component):
    """Gives each response to the unit of its tid; ``lost`` pulses for a tid without a unit.

    Latency: none. Throughput: a beat a cycle. Stalls: while that unit cannot take it.
    """

    latency = 0

    def __init__(self, params: UnitsParams) -> None:
        super().__init__(
            params,
            responses=In(stream.Signature(RESPONSE_BEAT)),
            o=Out(stream.Signature(RESPONSE_BEAT)).array(params.units),
            lost=Out(1),
        )

    def build(self, m: Module) -> None:
        response, tid = self.responses, self.responses.payload.pr.tid
        requested = Cat(tid == k for k in range(self.params.units))
        m.d.comb += [
            # Ready comes late, so it passes only one gate, and no chain of multiplexers.
            response.ready.eq(Cat(o.ready | ~requested[k] for k, o in enumerate(self.o)).all()),
            self.lost.eq(response.valid & ~requested.any() & response.payload.last),
        ]
        for k, o in enumerate(self.o):
            m.d.comb += [o.payload.eq(response.payload), o.valid.eq(response.valid & requested[k])]
