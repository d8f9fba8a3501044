"""Splits NetSparse's packets of one MAC by their kind."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.packets import AXIS, in_lanes
from hdl.netsparse.protocol import PACKET_CONSTANTS, PACKET_HEADER, Kind

READS, RESPONSES = 0, 1
KINDS = 2


class KindSplit(Component):
    """Sends packets of ``mac`` to ``o[READS]`` or, with errors, to ``o[RESPONSES]``.

    The first beat decides; where it has no header of ours, the packet goes nowhere and ``foreign``
    is high for a cycle, a cycle after its end. ``mac.tready`` is always high, and that of ``o`` is
    ignored: no part here can wait. Throughput: a beat a cycle. Latency: :attr:`latency`.
    """

    latency = 1

    def __init__(self, params: None = None) -> None:
        super().__init__(params, {"mac": In(AXIS), "o": Out(AXIS).array(KINDS), "foreign": Out(1)})

    def elaborate(self, platform) -> Module:
        m = Module()
        mac = self.mac
        header = data.View(PACKET_HEADER, in_lanes(mac.tdata))
        own = (
            mac.tkeep.all()
            & Cat(header.upper[name] == value for name, value in PACKET_CONSTANTS.items()).all()
        )
        kind = header.concatenation.type
        first = Signal(KINDS)
        answers = (kind == Kind.RESPONSE.value) | (kind == Kind.ERROR.value)
        m.d.comb += first.eq(Mux(own, Cat(kind == Kind.READ.value, answers), 0))
        begins = Signal(init=1)
        chosen = Signal(KINDS)  # of the packet inside
        where = Signal(KINDS)
        m.d.comb += [mac.tready.eq(1), where.eq(Mux(begins, first, chosen))]
        with m.If(mac.tvalid):
            m.d.sync += [begins.eq(mac.tlast), chosen.eq(where)]
        beat = {
            name: Signal.like(getattr(mac, name), name=name, reset_less=True)
            for name in ("tdata", "tkeep", "tlast", "tuser")
        }
        valid = Signal(KINDS)
        ended = Signal()
        m.d.comb += self.foreign.eq(ended & ~valid.any())  # no later, and with less behind the MAC
        m.d.sync += ended.eq(mac.tvalid & mac.tlast)
        m.d.sync += [register.eq(getattr(mac, name)) for name, register in beat.items()]
        m.d.sync += valid.eq(Mux(mac.tvalid, where, 0))
        for k, o in enumerate(self.o):
            m.d.comb += [getattr(o, name).eq(register) for name, register in beat.items()]
            m.d.comb += o.tvalid.eq(valid[k])
        return m
