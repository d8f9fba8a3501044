"""Shares an AXI4 bus for reads between masters."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hdl.common.axi import AxiReadSignature, Burst
from hdl.common.component import Component
from hdl.common.fifo import Fifo
from hdl.common.params import Params, whole
from hdl.common.stream_arbiter import StreamArbiter

BURSTS = 64  #: most bursts under way, of all masters


class AxiReadArbiterParams(Params, suffix="{masters}_{address_bits}x{data_bits}"):
    """Sets the masters and the widths of their buses."""

    masters: int = whole(2, 16, default=2)  #: number of buses that share one
    address_bits: int = whole(1, 64, default=33)  #: width of a byte address
    data_bits: int = whole(8, 1024, power_of_two=True, default=256)  #: width of a beat

    @property
    def axi(self) -> AxiReadSignature:
        """Describe each bus."""
        return AxiReadSignature(address_bits=self.address_bits, data_bits=self.data_bits)

    @property
    def burst(self) -> data.StructLayout:
        """Describe what passes of a burst."""
        return data.StructLayout({"addr": self.address_bits, "len": 8, "size": 3, "burst": Burst})


class AxiReadArbiter(Component):
    """Passes the bursts of ``i`` to ``o`` in round-robin order, and their beats back.

    All bursts have identifier 0, so beats come in the order of bursts. Throughput: a beat a cycle,
    and a burst a cycle. Latency: ``latency`` on AR, none on R. Stalls: at most BURSTS bursts are
    under way; a master that does not take its beat holds those of the others. Errors: a beat that
    comes without a burst goes to any master, which has to judge it.
    """

    latency = StreamArbiter.latency

    def __init__(self, params: AxiReadArbiterParams) -> None:
        super().__init__(params, i=In(params.axi).array(params.masters), o=Out(params.axi))

    def build(self, m: Module) -> None:
        params, o = self.params, self.o
        m.submodules.bursts = bursts = StreamArbiter.sized(shape=params.burst, count=params.masters)
        m.submodules.order = order = Fifo.sized(
            shape=ceil_log2(params.masters), depth=BURSTS, style="distributed"
        )
        request, due = bursts.o, order.o
        takes = Signal(params.masters)
        m.d.comb += [
            o.arvalid.eq(request.valid & order.i.ready),
            request.ready.eq(o.arready & order.i.ready),
            order.i.valid.eq(request.valid & o.arready),
            order.i.payload.eq(request.payload.index),
            due.ready.eq(o.rvalid & o.rready & o.rlast),
            takes.eq(Cat(i.rready for i in self.i)),
            o.rready.eq(takes.bit_select(due.payload, 1)),
            *(getattr(o, f"ar{n}").eq(request.payload.payload[n]) for n in params.burst.members),
        ]
        for k, i in enumerate(self.i):
            m.d.comb += [
                bursts.i[k].valid.eq(i.arvalid),
                i.arready.eq(bursts.i[k].ready),
                *(bursts.i[k].payload[n].eq(getattr(i, f"ar{n}")) for n in params.burst.members),
                i.rvalid.eq(o.rvalid & (due.payload == k)),
                *(getattr(i, name).eq(getattr(o, name)) for name in ("rdata", "rresp", "rlast")),
            ]
