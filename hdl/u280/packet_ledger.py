"""Counts the packets between the core and a MAC that a reset of the MAC loses."""

from amaranth.hdl import Cat, DomainRenamer, Module, Mux, Signal, signed
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.crossing.crossing import inside
from hdl.common.crossing.gray_crossing import GrayCrossing, GrayCrossingParams

SETTLED = 8  #: cycles without ``runs`` after which all of the MAC's end has crossed


class PacketLedger(Component):
    """Tells in ``lost``, for a cycle after a reset of clock ``mac``, how many packets it has lost.

    These have come to the way and not left it when it stops, which ``runs`` tells
    (:class:`hdl.u280.packet_crossing.PacketCrossing`). ``comes`` and ``leaves`` are numbers of
    packets in a cycle at the core's end, ``mac_comes`` and ``mac_leaves`` at the MAC's. The counts
    have ``params.bits``, one more than the most packets on the way at a time need. A reset of
    ``mac`` must last for at least 32 of its cycles. After a reset of the core, packets from before
    it may still be on the way; the count is then too low, until the way has been empty once.
    """

    domains = ("sync", "mac")

    def __init__(self, params: GrayCrossingParams) -> None:
        far = {"write": "mac", "read": "sync"}
        self.crossings = inside("far", GrayCrossing(params).crossings, far)
        ports = {"comes": 2, "leaves": 2, "mac_comes": 1, "mac_leaves": 1, "runs": 1}
        ins = {name: In(bits) for name, bits in ports.items()}
        super().__init__(params, ins | {"lost": Out(params.bits - 1)})

    def build(self, m: Module) -> None:
        bits = self.params.bits
        crossing = DomainRenamer({"write": "mac", "read": "sync"})(GrayCrossing(self.params))
        m.submodules.far = crossing
        count = Signal(bits, reset_less=True)  # at the MAC's end; no reset makes it jump
        m.d.mac += count.eq((count + self.mac_comes - self.mac_leaves)[:bits])
        m.d.comb += crossing.value.eq(count)
        near, far, minus_far = Signal(bits), Signal(bits), Signal(bits)
        seen = Cat(crossing.seen[k:].xor() for k in range(bits))
        quiet, known = Signal(range(SETTLED + 1)), Signal()
        sums, takes = (near + far)[:bits], quiet == SETTLED - 1
        step, below = Signal(signed(3)), Signal()
        begun = Mux(takes | below, minus_far, near)  # nothing is on the way
        m.d.sync += [
            far.eq(seen),
            minus_far.eq((-seen)[:bits]),
            below.eq(sums[-1]),
            step.eq(self.comes - self.leaves),
            near.eq((begun + step)[:bits]),
            quiet.eq(Mux(self.runs, 0, quiet + (quiet != SETTLED))),
            self.lost.eq(Mux(takes & known & ~sums[-1], sums[:-1], 0)),
            known.eq(known | takes),
        ]
