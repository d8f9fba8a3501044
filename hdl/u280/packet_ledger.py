"""Counts the packets between the core and a MAC that a reset of the MAC loses."""

from dataclasses import dataclass

from amaranth.hdl import Cat, DomainRenamer, Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.crossing.crossing import inside
from hdl.common.crossing.gray_crossing import GrayCrossing, GrayCrossingParams

SETTLED = 8  #: cycles without ``runs`` after which all of the MAC's end has crossed


@dataclass(frozen=True, kw_only=True)
class PacketLedgerParams:
    """Sets the size of a ledger."""

    most: int  #: most packets that are on the way at a time

    @property
    def crossing(self) -> GrayCrossingParams:
        """Return the size of the count that crosses; a sum of two has a sign."""
        return GrayCrossingParams(bits=self.most.bit_length() + 1)

    @property
    def suffix(self) -> str:
        """Return the end of the module's name: the width of the counts."""
        return f"{self.crossing.bits}"


class PacketLedger(Component):
    """Tells in ``lost``, for a cycle after a reset of clock ``mac``, how many packets it has lost.

    These have come to the way and not left it when it stops, which ``runs`` tells
    (:class:`hdl.u280.packet_crossing.PacketCrossing`). ``comes`` and ``leaves`` are numbers of
    packets in a cycle at the core's end, ``mac_comes`` and ``mac_leaves`` at the MAC's. A reset of
    ``mac`` must last for at least 32 of its cycles. After a reset of the core, packets from before
    it may still be on the way; the count is then too low, until the way has been empty once.
    """

    domains = ("sync", "mac")

    def __init__(self, params: PacketLedgerParams) -> None:
        there = {"write": "mac", "read": "sync"}
        self.crossings = inside("there", GrayCrossing(params.crossing).crossings, there)
        ports = {"comes": 2, "leaves": 2, "mac_comes": 1, "mac_leaves": 1, "runs": 1}
        told = {"lost": Out(params.crossing.bits - 1)}
        super().__init__(params, {name: In(bits) for name, bits in ports.items()} | told)

    def elaborate(self, platform) -> Module:
        m = Module()
        bits = self.params.crossing.bits
        crossing = DomainRenamer({"write": "mac", "read": "sync"})(
            GrayCrossing(self.params.crossing)
        )
        m.submodules.there = crossing
        count = Signal(bits, reset_less=True)  # at the MAC's end; no reset makes it jump
        m.d.mac += count.eq((count + self.mac_comes - self.mac_leaves)[:bits])
        here, there, sums = Signal(bits), Signal(bits), Signal(bits)
        quiet, known, takes = Signal(range(SETTLED + 1)), Signal(), Signal()
        m.d.comb += [
            crossing.value.eq(count),
            sums.eq((here + there)[:bits]),
            takes.eq(quiet == SETTLED - 1),
        ]
        begun = Mux(takes | sums[-1], -there, here)  # nothing is on the way
        m.d.sync += [
            there.eq(Cat(crossing.seen[k:].xor() for k in range(bits))),
            here.eq((begun + self.comes - self.leaves)[:bits]),
            quiet.eq(Mux(self.runs, 0, quiet + (quiet != SETTLED))),
            self.lost.eq(Mux(takes & known & ~sums[-1], sums[:-1], 0)),
            known.eq(known | takes),
        ]
        return m
