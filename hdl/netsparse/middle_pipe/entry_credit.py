"""Returns the room claimed for a PR, when it is known by how much its packet has grown."""

from amaranth.hdl import Module, Mux
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.fifo import Fifo
from hdl.switch.output_room import OutputRoomParams

INSIDE = 16  #: most PRs between a concatenator's input and their credit


class EntryCredit(Component):
    """Returns the room claimed for a PR, less the beats by which its packet has grown.

    ``comes``: the last beat of a PR enters a concatenator, for ``claim.port``, with ``claim.beats``
    claimed for it. Concatenators keep the order of PRs up to their ``credit``, which comes with the
    number of beats by which the packet ``grows``. ``give`` follows a cycle later.
    """

    latency = 1

    def __init__(self, params: OutputRoomParams) -> None:
        super().__init__(
            params,
            comes=In(1),
            claim=In(params.give),
            credit=In(1),
            grows=In(params.give["beats"].shape),
            give=Out(params.give),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.claims = claims = Fifo.sized(shape=params.give, depth=INSIDE)
        claim = claims.o.payload
        m.d.comb += [
            claims.i.valid.eq(self.comes),
            claims.i.payload.eq(self.claim),
            claims.o.ready.eq(self.credit),
        ]
        m.d.sync += [
            self.give.port.eq(claim.port),
            self.give.beats.eq(Mux(self.credit, (claim.beats - self.grows)[: len(self.grows)], 0)),
        ]
