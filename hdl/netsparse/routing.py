"""Routes what arrives at a SNIC to its units: reads to who is free, responses to who asked."""

from dataclasses import dataclass

from amaranth.hdl import Module
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.round_robin import RoundRobin, RoundRobinParams
from hdl.netsparse.protocol import READ_PR, RESPONSE_BEAT


@dataclass(frozen=True, kw_only=True)
class UnitsParams:
    """Sets how many units there are."""

    units: int  #: number of units, 1..32

    def __post_init__(self) -> None:
        if not 1 <= self.units <= 32:
            raise ValueError(f"units must be from 1 to 32: {self.units}")

    @property
    def suffix(self) -> str:
        """Return the end of the module's name: the number of units."""
        return str(self.units)


class ReadDispatch(Component):
    """Gives each read to one of the ``servers`` that can take it, in turn (NetSparse, figure 4).

    Latency: none. Throughput: a read a cycle. Stalls: while no server unit can take one. This is
    the one place where a ``valid`` depends on a ``ready``: the choice is of those who are ready.
    """

    latency = 0

    def __init__(self, params: UnitsParams) -> None:
        super().__init__(
            params,
            {
                "reads": In(stream.Signature(READ_PR)),
                "servers": In(params.units),
                "o": Out(stream.Signature(READ_PR)).array(params.units),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        m.submodules.turns = turns = RoundRobin(RoundRobinParams(count=max(2, self.params.units)))
        for k, o in enumerate(self.o):
            m.d.comb += [
                turns.asking[k].eq(o.ready & self.servers[k]),
                o.payload.eq(self.reads.payload),
                o.valid.eq(self.reads.valid & turns.grant[k]),
            ]
        m.d.comb += [turns.take.eq(self.reads.valid), self.reads.ready.eq(turns.asking.any())]
        return m


class ResponseRoute(Component):
    """Gives each response to the unit that its tid names; ``lost`` counts those that name none.

    Latency: none. Throughput: a beat a cycle. Stalls: while that unit cannot take it.
    """

    latency = 0

    def __init__(self, params: UnitsParams) -> None:
        super().__init__(
            params,
            {
                "responses": In(stream.Signature(RESPONSE_BEAT)),
                "o": Out(stream.Signature(RESPONSE_BEAT)).array(params.units),
                "lost": Out(1),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        response = self.responses
        nobody = response.payload.pr.tid >= self.params.units
        m.d.comb += [
            self.responses.ready.eq(nobody),
            self.lost.eq(response.valid & nobody & response.payload.last),
        ]
        for k, o in enumerate(self.o):
            m.d.comb += o.payload.eq(response.payload)
            with m.If(response.payload.pr.tid == k):
                m.d.comb += [o.valid.eq(response.valid), response.ready.eq(o.ready)]
        return m
