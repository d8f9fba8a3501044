"""Splits the packets of a source that cannot wait by what their first beats say."""

from abc import abstractmethod
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.packets import AXIS
from hdl.common.params import Params, tagged


class PacketSplitParams(Params, suffix=""):
    """Says where packets of no kind go."""

    rest: bool = tagged("rest", default=False)  #: whether they have an output of their own


class PacketSplit(Component):
    """Sends each packet of ``mac`` to the ``o`` of its kind, which its first beat decides.

    A packet of no kind goes to the last ``o`` with ``params.rest``, and otherwise nowhere.
    ``foreign`` is high for a cycle, a cycle after its end. ``mac.tready`` is always high, and that
    of ``o`` is ignored: no part here can wait. Throughput: a beat a cycle. Latency:
    :attr:`latency`.
    """

    latency = 1
    kinds = 1  #: number of kinds

    def __init__(self, params: PacketSplitParams | None = None, **more: Any) -> None:
        params = PacketSplitParams() if params is None else params
        outputs = Out(AXIS).array(self.kinds + params.rest)
        super().__init__(params, mac=In(AXIS), **more, o=outputs, foreign=Out(1))

    @abstractmethod
    def kind_of(self, m: Module, beat: Any) -> Value:
        """Return a bit for each kind, of which the first beat of a packet sets at most one."""

    def build(self, m: Module) -> None:
        mac, outputs = self.mac, len(self.o)
        first = Signal(self.kinds)
        begins = Signal(init=1)
        chosen = Signal(outputs, reset_less=True)  # of the packet inside
        where = Signal(outputs)
        m.d.comb += first.eq(self.kind_of(m, mac))
        known = first.any()
        m.d.comb += [
            mac.tready.eq(1),
            where.eq(Mux(begins, Cat(first, ~known) if self.params.rest else first, chosen)),
        ]
        m.d.sync += chosen.eq(where)
        with m.If(mac.tvalid):
            m.d.sync += begins.eq(mac.tlast)
        beat = {
            name: Signal.like(getattr(mac, name), name=name, reset_less=True)
            for name in ("tdata", "tkeep", "tlast", "tuser")
        }
        valid = Signal(outputs)
        ended = Signal()
        m.d.comb += self.foreign.eq(ended & ~valid[: self.kinds].any())  # no later than its end
        m.d.sync += ended.eq(mac.tvalid & mac.tlast)
        m.d.sync += [register.eq(getattr(mac, name)) for name, register in beat.items()]
        m.d.sync += valid.eq(Mux(mac.tvalid, where, 0))
        for k, o in enumerate(self.o):
            m.d.comb += [getattr(o, name).eq(register) for name, register in beat.items()]
            m.d.comb += o.tvalid.eq(valid[k])
